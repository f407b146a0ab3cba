/**
 * A disk on which nothing is changed, and no sync counts, once the lock of the directory is somebody else's.
 *
 * Two servers of which one cannot see the other, as in two containers on one volume, both find the lock free: whoever
 * comes later has it. The earlier one must not write among the frames of the later any more, nor acknowledge what it
 * wrote before: the later one may not have read that. Whoever takes the lock does so before it reads, so what is
 * synced and then finds the lock still held is read by all who come after. What no file can prevent: a write that was
 * begun before, and reaches the device only after the later server has read the journal, started and written there.
 */
import type { Disk, DiskFile, Done } from './disk.ts';
import type { Lock } from './lock.ts';

/** The disk for as long as the lock is held: afterwards what would change something fails with LockLostError. */
export function whileHeld(disk: Disk, lock: Lock): Disk {
  const held = <T>(change: () => T): T => {
    lock.check();
    return change();
  };
  const lost = (): Error | null => {
    try {
      lock.check();
      return null;
    } catch (error) {
      return error as Error;
    }
  };
  /** Begins a change that reports later, or reports later why it is not begun. */
  const heldLater = (begin: () => void, refuse: (error: Error) => void) => {
    const error = lost();
    if (error === null) begin();
    else queueMicrotask(() => refuse(error));
  };
  /** What another server's work made fail is told as what it is: the lock is gone. */
  const stillHeld =
    (done: Done): Done =>
    (error) =>
      done(lost() ?? error);
  const heldFile = (file: DiskFile): DiskFile => ({
    ...file,
    write: (bytes, from, to, position) => held(() => file.write(bytes, from, to, position)),
    writeLater: (bytes, from, to, position, done) =>
      heldLater(
        () => file.writeLater(bytes, from, to, position, done),
        (error) => done(error, 0),
      ),
    // The journal reads the end of what it has synced before that counts.
    readLater: (bytes, from, to, position, done) =>
      file.readLater(bytes, from, to, position, (error, count) => done(lost() ?? error, count)),
    truncate: (size) => held(() => file.truncate(size)),
    truncateLater: (size, done) => heldLater(() => file.truncateLater(size, stillHeld(done)), done),
    sync() {
      file.sync();
      lock.check();
    },
    syncLater: (done) => file.syncLater(stillHeld(done)),
  });
  return {
    // To read too: what is missing was taken away by who has the lock now.
    open: (path, mode) => heldFile(held(() => disk.open(path, mode))),
    createLater: (path, done) => heldLater(() => disk.createLater(path, stillHeld(done)), done),
    openSynced(path) {
      const file = held(() => disk.openSynced(path));
      if (file === null) return null;
      return {
        ...file,
        writeLater: (bytes, from, to, position, done) =>
          heldLater(
            () => file.writeLater(bytes, from, to, position, (error, count) => done(lost() ?? error, count)),
            (error) => done(error, 0),
          ),
      };
    },
    exists: (path) => disk.exists(path),
    rights: (path) => disk.rights(path),
    identity: (path) => disk.identity(path),
    isShared: (path) => disk.isShared(path),
    readdir: (path) => disk.readdir(path),
    mkdir: (path) => held(() => disk.mkdir(path)),
    rmdir: (path) => held(() => disk.rmdir(path)),
    link: (from, to) => held(() => disk.link(from, to)),
    rename: (from, to) => held(() => disk.rename(from, to)),
    renameLater: (from, to, done) => heldLater(() => disk.renameLater(from, to, stillHeld(done)), done),
    unlink: (path) => held(() => disk.unlink(path)),
    unlinkLater: (path, done) => heldLater(() => disk.unlinkLater(path, stillHeld(done)), done),
    syncDirectory(path) {
      disk.syncDirectory(path);
      lock.check();
    },
    syncDirectoryLater: (path, done) => disk.syncDirectoryLater(path, stillHeld(done)),
  };
}
