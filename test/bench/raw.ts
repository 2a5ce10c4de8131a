import { createServer } from 'node:http';
import Database from 'libsql';

/**
 * The baseline: handwritten REST on node:http over the same data file, without keys, limits, validation or logs. The
 * gateway's ratio to it shows what the gateway adds.
 */
const db = new Database(process.env.DATA_FILE!);
db.exec('pragma journal_mode = wal; pragma synchronous = normal');
const columns = 'id, name, category_id as categoryId, status';
const one = db.prepare(`select ${columns} from pets where id = ?`);
const page = db.prepare(`select ${columns} from pets order by id limit ?`);
const insert = db.prepare(
  `insert into pets (id, name, category_id, status, quantity) values ((select max(id) + 1 from pets), ?, ?, ?, 0) returning ${columns}`,
);

const server = createServer((request, response) => {
  const send = (status: number, value: unknown) => {
    const body = JSON.stringify(value);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  };
  const [path = '/', query = ''] = request.url!.split('?');
  if (request.method === 'POST') {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { name, categoryId, status } = JSON.parse(text);
      send(201, insert.all(name, categoryId, status)[0]);
    });
  } else if (path === '/pets') {
    send(200, page.all(Number(new URLSearchParams(query).get('limit') ?? 20)));
  } else {
    send(200, one.all(Number(path.slice('/pets/'.length)))[0]);
  }
});
server.listen(Number(process.env.PORT), '127.0.0.1');
