-- wrk asks for records drawn at random. Arguments after `--`: a path, with a number's place in it as string.format
-- writes it, or none; and how many numbers there are, from 0, or 0. done() prints what read.ts reads.

local paths, count

function init(args)
  paths, count = args[1], tonumber(args[2])
  math.randomseed(os.time())
end

function request()
  local path = count > 0 and string.format(paths, math.random(0, count - 1)) or paths
  return 'GET ' .. path .. ' HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"answered":%d,"refused":%d,"lost":%d,"seconds":%f,"bytes":%d,"p50":%f,"p99":%f}\n',
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, summary.bytes, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
