/**
 * A keep-alive connection that sends requests made beforehand and reads just enough of each answer to know
 * its status and its end. It exists because a load generator shares the machine with what it measures: a
 * whole HTTP client costs several times what the service may spend on a request.
 *
 * One request is under way per connection. Answers must carry Content-Length (or be 204): anything else
 * ends the connection as `lost`, so that no figure rests on an answer that was not understood.
 */
import { connect, type Socket } from 'node:net';

const READ_BYTES = 64 * 1024;
const HEAD_BYTES_MAX = 16 * 1024;
const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Called once per request with the status of its answer, or 0 where the connection was lost under way. */
type OnAnswer = (connection: RawConnection, status: number) => void;

export class RawConnection {
  /** False before the connection stands and after it was lost: such a connection takes no request. */
  open = false;
  /** A number for the one who drives it, milliseconds: when the request under way should have left. */
  scheduled = 0;
  private readonly socket: Socket;
  private readonly onAnswer: OnAnswer;
  private underWay = false;
  /** The part of a head that came so far, where one arrives in pieces. */
  private head: Buffer | null = null;
  private status = 0;
  private bodyBytesLeft = 0;

  private constructor(port: number, onAnswer: OnAnswer, onOpen: () => void, onFail: (error: Error) => void) {
    this.onAnswer = onAnswer;
    this.socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (length, buffer) => {
          this.read((buffer as Buffer).subarray(0, length));
          return true;
        },
      },
    });
    this.socket.once('connect', () => {
      this.open = true;
      onOpen();
    });
    this.socket.on('error', onFail);
    this.socket.once('close', () => this.lose());
  }

  static connect(port: number, onAnswer: OnAnswer): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const connection: RawConnection = new RawConnection(port, onAnswer, () => resolve(connection), reject);
    });
  }

  send(request: Uint8Array): void {
    if (this.underWay || !this.open) throw new Error('one request at a time, on an open connection');
    this.underWay = true;
    this.socket.write(request);
  }

  close(): void {
    this.open = false;
    this.socket.destroy();
  }

  private read(bytes: Buffer): void {
    if (this.bodyBytesLeft > 0) {
      this.readBody(bytes);
      return;
    }
    const all = this.head === null ? bytes : Buffer.concat([this.head, bytes]);
    const end = all.indexOf(HEAD_END);
    if (end < 0) {
      if (all.length > HEAD_BYTES_MAX) this.socket.destroy();
      this.head = Buffer.from(all);
      return;
    }
    this.head = null;
    const text = all.toString('latin1', 0, end);
    this.status = Number(text.slice(9, 12));
    const length = CONTENT_LENGTH.exec(text)?.[1] ?? (this.status === 204 ? '0' : undefined);
    if (length === undefined || !text.startsWith('HTTP/1.1 ')) {
      this.socket.destroy();
      return;
    }
    this.bodyBytesLeft = Number(length);
    this.readBody(all.subarray(end + HEAD_END.length));
  }

  private readBody(bytes: Buffer): void {
    // More than the body belongs to no request of ours.
    if (bytes.length > this.bodyBytesLeft || !this.underWay) {
      this.socket.destroy();
      return;
    }
    this.bodyBytesLeft -= bytes.length;
    if (this.bodyBytesLeft > 0) return;
    this.underWay = false;
    this.onAnswer(this, this.status);
  }

  private lose(): void {
    this.open = false;
    if (!this.underWay) return;
    this.underWay = false;
    this.onAnswer(this, 0);
  }
}
