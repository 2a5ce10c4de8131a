import process from 'node:process';

export default {
  petstore: {
    input: process.env.DESCRIPTION,
    output: { target: 'orval/petstore.ts', client: 'fetch', headers: true, baseUrl: process.env.URL },
  },
};
