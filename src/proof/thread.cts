/**
 * What a thread of the proof pool begins with: it loads the module that serves a lane, by `import`. piscina would `require`
 * it, and where a thread is ended while it does that Node 20 ends the whole process, with a native stack and SIGABRT: a
 * server that was stopped, or whose disk failed, in the moment when its threads were loading.
 */
const { workerData } = require('node:worker_threads') as typeof import('node:worker_threads');

const loaded: Promise<{ default: unknown }> = import((workerData as { module: string }).module);
// A thread that cannot load what it is for ends with the error.
loaded.catch((error: unknown) => {
  process.nextTick(() => {
    throw error;
  });
});

module.exports = { __esModule: true, default: loaded.then((module) => module.default) };
