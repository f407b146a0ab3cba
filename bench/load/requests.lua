-- wrk plays requests made beforehand: each call of request() answers with the next one of this thread's
-- part, so that every body is sent once and nothing is built while the clock runs.
--
-- Arguments after `--`: requests a second in all, 0 for as fast as answers come; then for each wrk thread the path of
-- its part, without extension. `<part>.http` is the requests one after the other, `<part>.lengths` their lengths as
-- 32-bit integers of this machine. With a rate, a free connection waits for its request's turn; whoever wants the
-- schedule kept brings more connections than requests will ever wait for answers at once.
-- A part that runs out stops its thread; done() says when, so that the rate is taken over that time.

local ffi = require('ffi')
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } clock_value;
  int clock_gettime(int clock, clock_value *value);
  int open(const char *path, int flags);
  void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);
]]

local threads = {}

-- wrk calls this once per thread in its main state.
function setup(thread)
  thread:set('part', #threads + 1)
  table.insert(threads, thread)
end

local function now()
  local value = ffi.new('clock_value')
  ffi.C.clock_gettime(1, value)
  return tonumber(value.seconds) + tonumber(value.nanoseconds) / 1e9
end

-- Mapped, not read: LuaJIT would otherwise hold the whole file on its own heap.
local function map(path, kind)
  local file = assert(io.open(path, 'rb'))
  local length = file:seek('end')
  file:close()
  local address = ffi.C.mmap(nil, length, 1, 2, ffi.C.open(path, 0), 0)
  assert(ffi.cast('intptr_t', address) ~= -1, 'cannot map ' .. path)
  return ffi.cast(kind, address), length
end

local bytes, lengths, count
local rate, begun, turns = 0, 0, 0
local position, rehearsed = 0, false

sent, started, ended = 0, 0, 0

function init(args)
  local path = assert(args[part + 1], 'a part for each thread')
  rate = tonumber(args[1]) / (#args - 1)
  -- wrk asks for it only where there is such a function once init has run.
  if rate > 0 then delay = untilTurn end
  bytes = map(path .. '.http', 'const char *')
  local lengths_bytes
  lengths, lengths_bytes = map(path .. '.lengths', 'const uint32_t *')
  count = lengths_bytes / 4
end

-- Milliseconds until the next turn of the schedule.
function untilTurn()
  if begun == 0 then begun = now() end
  local due = begun + turns / rate
  turns = turns + 1
  return math.max(0, math.floor((due - now()) * 1000 + 0.5))
end

function request()
  if sent == count then
    if ended == 0 then ended = now() end
    wrk.thread:stop()
    return 'GET /v2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' -- leaves no trace; nobody waits for its answer
  end
  local text = ffi.string(bytes + position, lengths[sent])
  if part == 1 and not rehearsed then -- wrk asks the first thread once before the start and sends nothing
    rehearsed = true
    return text
  end
  if sent == 0 then started = now() end
  position = position + lengths[sent]
  sent = sent + 1
  return text
end

function done(summary, latency)
  local parts, seconds = {}, 0
  for number, thread in ipairs(threads) do
    local from, to = thread:get('started'), thread:get('ended')
    local took = to > 0 and to - from or summary.duration / 1e6
    if took > seconds then seconds = took end
    parts[number] = string.format('{"sent":%d,"ranOut":%s}', thread:get('sent'), tostring(to > 0))
  end
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"answered":%d,"refused":%d,"lost":%d,"timeouts":%d,"seconds":%f,' ..
    '"p50":%f,"p90":%f,"p99":%f,"p999":%f,"max":%f,"parts":[%s]}\n',
    summary.requests, errors.status, errors.connect + errors.read + errors.write, errors.timeout, seconds,
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000,
    latency:percentile(99.9) / 1000, latency.max / 1000, table.concat(parts, ',')))
end
