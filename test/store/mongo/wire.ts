import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { BSON, type Document, MongoClient } from 'mongodb';
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
  | { is: 'held'; time: number }
  /** The cursor is closed: that of a change stream after an `invalidate` that the pipeline leaves out. */
  | { is: 'invalidated' };

/** A command as `find pets`, and what a transaction or change stream makes of it. */
export interface Command {
  name: string;
  inTransaction: boolean;
  body: Document;
}

/*
 * Codes by their categories in src/mongo/base/error_codes.yml of mongodb/mongo, as far as tests use them. Labels follow
 * from these by `ErrorLabelBuilder` of src/mongo/db/error_labels.cpp. What the server has no label for, drivers decide:
 * 43 is resumable (DRIVERS-1308), and a failed commit gets UnknownTransactionCommitResult (source/transactions of
 * mongodb/specifications).
 */
/** RetriableError */
const RETRIABLE = new Set([6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);
/** NeedRetargettingError and SnapshotError, and those that `isTransientTransactionError` names. */
const TRANSIENT = new Set([13388, 150, 239, 246, 250, 272, 24, 112, 249, 267]);
/** NeedRetargettingError, and those that `isResumableChangeStreamError` names. */
const RESUMABLE = new Set([13388, 150, 133, 234]);
/** NonResumableChangeStreamError */
const NOT_RESUMABLE = new Set([280, 286]);

/** The labels that a server gives an error of this code. @param when whether it has carried out the command */
function labelsOf(
  code: number,
  { name, inTransaction, body }: Command,
  when: 'before' | 'after' | 'write concern',
): string[] {
  const ends = /^(?:commit|abort)Transaction/.test(name);
  const isRetriable = RETRIABLE.has(code);
  const isTransient = code === 251 ? when !== 'write concern' : TRANSIENT.has(code) || (!ends && isRetriable);
  if (inTransaction && isTransient) return ['TransientTransactionError'];
  if (isRetriable && body.txnNumber !== undefined && (!inTransaction || ends))
    return ['RetryableWriteError', ...(when === 'before' ? ['NoWritesPerformed'] : [])];
  if (NOT_RESUMABLE.has(code)) return ['NonResumableChangeStreamError'];
  const isStream = name === 'getMore $cmd.aggregate' || body.pipeline?.[0]?.$changeStream !== undefined;
  return isStream && (isRetriable || RESUMABLE.has(code)) ? ['ResumableChangeStreamError'] : [];
}

const OP_MSG = 2013;
const OP_REPLY = 1;

function commandIn(message: Buffer): Command | undefined {
  if (message.readInt32LE(12) !== OP_MSG || message[20] !== 0) return undefined;
  const size = message.readInt32LE(21);
  const body = BSON.deserialize(message.subarray(21, 21 + size), { promoteValues: false });
  const [first] = Object.keys(body);
  const of = first === 'getMore' ? body.collection : body[first!];
  const name = typeof of === 'string' ? `${first} ${of}` : first!;
  return { name, inTransaction: body.autocommit === false, body };
}

/** Where the document of an answer begins. */
const startOf = (reply: Buffer): number => (reply.readInt32LE(12) === OP_REPLY ? 36 : 21);
const documentIn = (reply: Buffer): Document =>
  BSON.deserialize(reply.subarray(startOf(reply)), { promoteValues: false });

/** The same answer with another document. */
function withDocument(reply: Buffer, document: Document): Buffer {
  const body = BSON.serialize(document);
  const head = Buffer.from(reply.subarray(0, startOf(reply)));
  head.writeInt32LE(head.length + body.length, 0);
  return Buffer.concat([head, body]);
}

function answerTo(request: Buffer, document: Document): Buffer {
  const head = Buffer.alloc(21);
  head.writeInt32LE(request.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return withDocument(head, document);
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

/** The name of the server's replica set. */
async function setNameOf(uri: string): Promise<string> {
  const client = new MongoClient(uri);
  const { setName } = await client.db().command({ hello: 1 });
  await client.close();
  return setName;
}

/**
 * A proxy to a test server that knows MongoDB's wire protocol: a replica set of two members, one of which is the primary, or
 * a router. It does something else than the server to a command.
 */
export async function openWire(target = serverUri()) {
  const [, credentials = '', host, port] = /^mongodb:\/\/([^@/]*@)?([^:/,]+):(\d+)/.exec(target)!;
  const setName = await setNameOf(target);
  const sockets = new Set<Socket>();
  const members: string[] = [];
  /** The commands so far. */
  let seen: Command[] = [];
  let armed: { command: string; fault: Fault; nth: number } | undefined;
  /** The member that is the primary; -1 while there is none. */
  let primary = 0;
  /** The number of elections so far. */
  let term = 1;
  let isRouter = false;
  /** The term in which each open transaction began, by the session's id. */
  const begunIn = new Map<string, number>();

  /** The answer to a greeting as this member or a router gives it; others as they are. */
  function asSeen(reply: Buffer, member: number): Buffer {
    const { setName, ...body } = documentIn(reply);
    if (setName === undefined) return reply;
    if (isRouter) return withDocument(reply, { ...body, hosts: undefined, msg: 'isdbgrid' });
    const isPrimary = member === primary;
    return withDocument(reply, {
      ...body,
      setName,
      hosts: members,
      me: members[member],
      isWritablePrimary: isPrimary,
      ismaster: isPrimary,
      secondary: !isPrimary,
      primary: members[primary],
      electionId: new BSON.ObjectId(term.toString(16).padStart(24, '0')),
    });
  }

  /** The error with which a member refuses a command because of an election. */
  function refusalOf({ name, inTransaction, body }: Command, member: number) {
    if (member !== primary && /^(?:ping|endSessions|killCursors)/.test(name)) return undefined;
    if (member !== primary)
      return /^(?:find |aggregate|getMore|listCollections)/.test(name)
        ? { code: 13435, name: 'NotPrimaryNoSecondaryOk' }
        : { code: 10107, name: 'NotWritablePrimary' };
    if (!inTransaction || /^(?:commit|abort)Transaction/.test(name)) return undefined;
    const id = `${body.lsid.id.toString('hex')}/${body.txnNumber}`;
    if (body.startTransaction) begunIn.set(id, term);
    return begunIn.get(id) === term ? undefined : { code: 251, name: 'NoSuchTransaction' };
  }

  const accept = (member: number) => (near: Socket) => {
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
    const refuse = (
      request: Buffer,
      command: Command,
      { code, name }: { code: number; name: string },
      when: 'before' | 'after',
    ) => {
      const errorLabels = labelsOf(code, command, when);
      const labels = errorLabels.length > 0 && { errorLabels };
      if (near.destroyed) return;
      near.write(answerTo(request, { ok: 0, errmsg: name, code, codeName: name, ...labels }));
    };
    onMessages(near, (request) => {
      const command = commandIn(request);
      if (command) {
        seen.push(command);
        const isHello = /^(?:hello|isMaster|ismaster)/.test(command.name);
        const refusal = isHello || isRouter ? undefined : refusalOf(command, member);
        if (refusal) return refuse(request, command, refusal, 'before');
        if (armed?.command === command.name && --armed.nth === 0) {
          const { fault } = armed;
          armed = undefined;
          if (fault.is === 'error' && fault.when === 'before')
            return refuse(request, command, fault, 'before');
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
      if (!hit) return void near.write(asSeen(reply, member));
      const { fault, request, command } = hit;
      faults.delete(reply.readInt32LE(8));
      if (fault.is === 'error') return refuse(request, command, fault, 'after');
      if (fault.is === 'held') return void setTimeout(() => near.write(asSeen(reply, member)), fault.time);
      if (fault.is === 'cut') {
        if (fault.when === 'within') near.write(reply.subarray(0, reply.length >> 1));
        return void setImmediate(() => near.destroy());
      }
      const body = documentIn(reply);
      if (fault.is === 'invalidated') {
        if (body.cursor) body.cursor.id = 0n;
        return void near.write(withDocument(reply, body));
      }
      const errorLabels = labelsOf(fault.code, command, 'write concern');
      const writeConcernError = { code: fault.code, codeName: fault.name, errmsg: fault.name };
      near.write(
        withDocument(reply, { ...body, writeConcernError, ...(errorLabels.length > 0 && { errorLabels }) }),
      );
    });
  };
  const servers = [0, 1].map((member) => createServer(accept(member)));
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    members.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  return {
    uriOf: (database: string): string =>
      mongoUri(
        database,
        isRouter
          ? `mongodb://${credentials}${members[0]}/?appName=test`
          : `mongodb://${credentials}${members.join(',')}/?replicaSet=${setName}`,
      ),
    /** Does this to the next command of this name, or to the nth one. */
    arm(command: string, fault: Fault, nth = 1): void {
      armed = { command, fault, nth };
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
    /** The primary is a secondary from now on. Its transactions are lost. */
    stepDown(): void {
      primary = -1;
    },
    /** Makes this member the primary. */
    elect(member: number): void {
      primary = member;
      term++;
    },
    /** Has the server say that it is a router. */
    route(): void {
      isRouter = true;
    },
    async close(): Promise<void> {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}
