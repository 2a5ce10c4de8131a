import { connect, createServer, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { mongoUri, serverUri } from '../../kit/mongo.ts';

/** What happens to one command, of which the server would have answered `reply`. */
export type Fault =
  /** An error instead of the command, or of the answer to it once it is carried out. */
  | { is: 'error'; code: number; name: string; when: 'before' | 'after' }
  /** Carried out, but not by as many members as were asked for. */
  | { is: 'write concern'; code: number; name: string }
  /** The connection ends before the command, before its answer, or in the middle of it; all of them end before it. */
  | { is: 'cut'; when: 'before' | 'after' | 'within' | 'all' }
  /** The answer comes late, in milliseconds. */
  | { is: 'held'; time: number };

/** A command as `find pets`, and what a transaction or change stream makes of it. */
export interface Command {
  name: string;
  inTransaction: boolean;
  body: Document;
}

/** Errors of a primary that goes, or a connection of its: `kRetryableErrors` of src/mongo/db/error_labels.cpp (6.0 to 8.0). */
const RETRYABLE = new Set([6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);
/** Errors of one attempt at a transaction: `isTransientTransactionError` of src/mongo/db/error_labels.cpp. */
const TRANSIENT = new Set([112, 24, 246, 251, 13388, 63, 150]);
/** `kResumableChangeStreamError`: RetryableError and these. */
const RESUMABLE = new Set([43, 63, 133, 150, 234, 13388]);

/** The labels that a server gives an error of this code. */
function labelsOf(code: number, { name, inTransaction, body }: Command): string[] {
  const ends = /^(?:commit|abort)Transaction/.test(name);
  const isStream =
    name.startsWith('getMore') || JSON.stringify(body.pipeline ?? '').includes('$changeStream');
  return [
    ...(RETRYABLE.has(code) && body.txnNumber !== undefined && (!inTransaction || ends)
      ? ['RetryableWriteError']
      : []),
    ...(inTransaction && (TRANSIENT.has(code) || (RETRYABLE.has(code) && !ends))
      ? ['TransientTransactionError']
      : []),
    ...(isStream && (RETRYABLE.has(code) || RESUMABLE.has(code)) ? ['ResumableChangeStreamError'] : []),
  ];
}

const OP_MSG = 2013;

function commandIn(message: Buffer): Command | undefined {
  if (message.readInt32LE(12) !== OP_MSG || message[20] !== 0) return undefined;
  const size = message.readInt32LE(21);
  const body = BSON.deserialize(message.subarray(21, 21 + size), { promoteValues: false });
  const [first] = Object.keys(body);
  const of = first === 'getMore' ? body.collection : body[first!];
  const name = typeof of === 'string' ? `${first} ${of}` : first!;
  return { name, inTransaction: body.autocommit === false, body };
}

function answerTo(request: Buffer, reply: Document): Buffer {
  const body = BSON.serialize(reply);
  const head = Buffer.alloc(21);
  head.writeInt32LE(21 + body.length, 0);
  head.writeInt32LE(request.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, body]);
}

/** The answer to a greeting as a router gives it; others as they are. */
function asRouter(reply: Buffer): Buffer {
  const start = reply.readInt32LE(12) === OP_MSG ? 21 : 36;
  const { setName, hosts, ...body } = BSON.deserialize(reply.subarray(start), { promoteValues: false });
  if (setName === undefined) return reply;
  const document = BSON.serialize({ ...body, msg: 'isdbgrid' });
  const head = Buffer.from(reply.subarray(0, start));
  head.writeInt32LE(start + document.length, 0);
  return Buffer.concat([head, document]);
}

/** Hands on whole messages of the wire protocol. */
function onMessages(socket: Socket, take: (message: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 16 && rest.length >= rest.readInt32LE(0)) {
      const message = rest.subarray(0, rest.readInt32LE(0));
      rest = rest.subarray(message.length);
      take(message);
    }
  });
}

/** A proxy to the test server that knows MongoDB's wire protocol, and does something else than the server to a command. */
export async function openWire() {
  const [, host, port] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,]+):(\d+)/.exec(serverUri())!;
  const sockets = new Set<Socket>();
  /** The commands so far. */
  let seen: Command[] = [];
  let armed: { command: string; fault: Fault } | undefined;
  /** While it is set, the server says that it is a secondary. */
  let isSecondary = false;
  /** Whether the server says that it is a router of a sharded cluster. */
  let isRouter = false;

  const server = createServer((near) => {
    const far = connect(Number(port), host);
    const faults = new Map<number, { fault: Fault; request: Buffer; command: Command }>();
    for (const [socket, peer] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
    const refuse = (request: Buffer, command: Command, { code, name }: { code: number; name: string }) => {
      const errorLabels = labelsOf(code, command);
      const reply = {
        ok: 0,
        errmsg: name,
        code,
        codeName: name,
        ...(errorLabels.length > 0 && { errorLabels }),
      };
      if (!near.destroyed) near.write(answerTo(request, reply));
    };
    onMessages(near, (request) => {
      const command = commandIn(request);
      if (command) {
        seen.push(command);
        const isHello = /^(?:hello|isMaster|ismaster)/.test(command.name);
        if (isSecondary && !isHello)
          return refuse(request, command, { code: 10107, name: 'NotWritablePrimary' });
        if (armed?.command === command.name) {
          const { fault } = armed;
          armed = undefined;
          if (fault.is === 'error' && fault.when === 'before') return refuse(request, command, fault);
          if (fault.is === 'cut' && fault.when === 'before') return void near.destroy();
          if (fault.is === 'cut' && fault.when === 'all')
            return [...sockets].forEach((each) => each.destroy());
          faults.set(request.readInt32LE(4), { fault, request, command });
        }
      }
      if (!far.destroyed) far.write(request);
    });
    onMessages(far, (reply) => {
      const hit = faults.get(reply.readInt32LE(8));
      if (!hit) return void near.write(isRouter ? asRouter(reply) : reply);
      const { fault, request, command } = hit;
      faults.delete(reply.readInt32LE(8));
      if (fault.is === 'error') return refuse(request, command, fault);
      if (fault.is === 'held') return void setTimeout(() => near.write(reply), fault.time);
      if (fault.is === 'cut') {
        if (fault.when === 'within') near.write(reply.subarray(0, reply.length >> 1));
        return void setImmediate(() => near.destroy());
      }
      const body = BSON.deserialize(reply.subarray(21), { promoteValues: false });
      const writeConcernError = { code: fault.code, codeName: fault.name, errmsg: fault.name };
      near.write(answerTo(request, { ...body, writeConcernError }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as { port: number }).port;

  return {
    uriOf: (database: string): string =>
      mongoUri(database)
        .replace(`${host}:${port}`, `127.0.0.1:${own}`)
        .replace(/\?directConnection=true|$/, '?directConnection=true'),
    /** Does this to the next command of this name. */
    arm(command: string, fault: Fault): void {
      armed = { command, fault };
    },
    /** Whether a command is still waited for; none is afterwards. */
    disarm(): boolean {
      const wasArmed = armed !== undefined;
      armed = undefined;
      return wasArmed;
    },
    /** The commands since it was asked last. */
    takeSeen(): Command[] {
      const taken = seen;
      seen = [];
      return taken;
    },
    /** Has the server refuse all commands as one that is no primary any more. */
    stepDown(is: boolean): void {
      isSecondary = is;
    },
    /** Has the server say that it is a router. */
    route(): void {
      isRouter = true;
    },
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
