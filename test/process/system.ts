/**
 * Faults that only the system can make: calls of a running process that fail or take long (strace), small disks and
 * disks nobody may write to (mount). Both need rights and a program that not every machine gives: where they are
 * missing the tests are left out, and say so.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dieWithUs } from '../support/children.ts';
import { PATIENCE_MS, until } from '../support/kit.ts';

function works(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function note(missing: string, what: string): void {
  process.stderr.write(`note: ${missing}; left out: ${what}\n`);
}

/** Whether calls can be made to fail here. */
export function canTrace(what: string): boolean {
  // It ends when it is traced, and strace with it: half a second, which was given before, a busy machine did not keep.
  const traced = 'until grep -q "^TracerPid:.*[1-9]" /proc/$$/status; do sleep 0.02; done';
  const target = spawn('/bin/sh', ['-c', traced], { stdio: 'ignore' });
  const attached = spawnSync('strace', ['-o', '/dev/null', '-p', String(target.pid)], {
    timeout: PATIENCE_MS,
    encoding: 'utf8',
  });
  target.kill('SIGKILL');
  const can = /attached/.test(attached.stderr ?? '');
  if (!can) note('strace is not there or may not attach (apt-get install strace)', what);
  return can;
}

/** The same of a program that forbids it to all but root, as sftp-server does. */
export function canTraceForbidding(what: string): boolean {
  if (process.getuid?.() === 0) return canTrace(what);
  note('only root may trace a program that forbids it', what);
  return false;
}

/** Whether disks can be mounted here. */
export function canMount(what: string): boolean {
  const path = mkdtempSync(join(tmpdir(), 'ayni-mount-'));
  const can = works('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path) && works('umount', path);
  rmSync(path, { recursive: true, force: true });
  if (!can) note('nothing can be mounted by this user', what);
  return can;
}

/** Before a command: it sees no process but its own, and others do not know its number, as in a container. */
export const UNSEEN = 'unshare --pid --fork --mount-proc --kill-child';

/** Whether processes can be hidden from each other here. */
export function canHide(what: string): boolean {
  const [command, ...args] = UNSEEN.split(' ') as [string, ...string[]];
  const can = works(command, ...args, 'true');
  if (!can) note('namespaces cannot be made by this user', what);
  return can;
}

interface Trace {
  /** The traced calls so far, one line each: `pwrite64(17, …) = -1 EIO (Input/output error) (INJECTED)`. */
  calls(): string[];
  /** Lets the process go on by itself. */
  detach(): Promise<void>;
}

/**
 * Attaches to a running process. `inject` is what strace takes behind `inject=`: `pwrite64:error=EIO:when=3`,
 * `pwrite64:delay_exit=100000`. Calls are counted for each thread by itself: a server that is to be counted
 * exactly runs with UV_THREADPOOL_SIZE=1. Where there are `paths`, only calls that name one of them count.
 */
export async function trace(pid: number, calls: string, inject: string, paths: string[] = []): Promise<Trace> {
  const directory = mkdtempSync(join(tmpdir(), 'ayni-trace-'));
  const log = join(directory, 'log');
  const only = paths.flatMap((path) => ['-P', path]);
  const args = ['-f', '-p', String(pid), '-o', log, ...only, '-e', `trace=${calls}`, '-e', `inject=${inject}`];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  dieWithUs(tracer);
  let told = '';
  tracer.stderr.on('data', (chunk) => (told += chunk));
  const ended = new Promise<void>((resolve) => tracer.once('close', () => resolve()));
  await until(() => told.includes('attached') || tracer.exitCode !== null);
  if (!told.includes('attached')) throw new Error(`strace did not attach: ${told}`);
  const lines = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => /^\d+ +\w+\(|resumed>/.test(line))
      .map((line) => line.replace(/^\d+ +/, ''));
  return {
    calls: lines,
    async detach() {
      tracer.kill('SIGINT');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface SmallDisk {
  path: string;
  /** Makes it larger or smaller: '64m'. */
  resize(size: string): void;
  remove(): void;
}

function unmount(path: string): void {
  works('umount', '-l', path);
  rmSync(path, { recursive: true, force: true });
}

/** A disk of its own in memory, which is full at `size`. */
export function mountDisk(size: string): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'ayni-disk-'));
  const mount = (...args: string[]) => {
    if (!works('mount', ...args)) throw new Error(`mount ${args.join(' ')} failed`);
  };
  mount('-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', path);
  return {
    path,
    resize: (wanted) => mount('-o', `remount,size=${wanted}`, path),
    remove: () => unmount(path),
  };
}

/** Another name for a directory, under which nobody may write, root neither. */
export function mountReadOnly(of: string): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'ayni-readonly-'));
  if (!works('mount', '--bind', of, path) || !works('mount', '-o', 'remount,ro,bind', path)) {
    works('umount', path);
    throw new Error(`cannot bind ${of}`);
  }
  return {
    path,
    remove: () => unmount(path),
  };
}

const FILE_SERVER = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server'].find((path) =>
  existsSync(path),
);

/** Whether file systems that are the work of another program can be had here, which may be there and not for this user. */
export async function canServeFiles(what: string): Promise<boolean> {
  if (FILE_SERVER === undefined || !works('sshfs', '--version')) {
    note('sshfs or sftp-server is not there (apt-get install sshfs openssh-sftp-server)', what);
    return false;
  }
  const directory = mkdtempSync(join(tmpdir(), 'ayni-mount-'));
  try {
    (await mountServed(directory, 'direct_io')).remove();
    return true;
  } catch {
    note('nothing can be mounted by way of sshfs by this user', what);
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface ServedDisk {
  path: string;
  /** The program. */
  pid: number;
  remove(): void;
}

/**
 * A directory under another name, as a program (sftp-server) serves it by way of FUSE. Nothing of that goes through this
 * process, which could otherwise wait for itself.
 */
export async function mountServed(of: string, options: string): Promise<ServedDisk> {
  const place = mkdtempSync(join(tmpdir(), 'ayni-served-'));
  const [path, command, pidFile] = ['disk', 'serve', 'pid'].map((name) => join(place, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(path);
  // It is called as ssh would be, and is no other host but the program there.
  writeFileSync(command, `#!/bin/sh\necho $$ > ${pidFile}\nexec ${FILE_SERVER}\n`, { mode: 0o700 });
  const mount = spawn('sshfs', [`here:${of}`, path, '-f', '-o', `ssh_command=${command},${options}`], {
    stdio: 'ignore',
  });
  dieWithUs(mount);
  // The program may come later than the mount.
  const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0);
  const isMounted = () => readFileSync('/proc/self/mounts', 'utf8').includes(` ${path} fuse.sshfs `) && pid() > 0;
  await until(() => isMounted() || mount.exitCode !== null);
  const remove = () => {
    // Whoever still asks for something there is answered by the system.
    mount.kill('SIGKILL');
    if (!works('umount', '-l', path)) works('fusermount', '-uz', path);
    rmSync(place, { recursive: true, force: true });
  };
  if (!isMounted()) {
    remove();
    throw new Error(`sshfs did not mount ${of}`);
  }
  return { path, pid: pid(), remove };
}
