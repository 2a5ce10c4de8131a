import { UNREACHABLE } from '../server.ts';

interface Response {
  error?: boolean;
  err?: Error & { status?: number };
}

/** Explains that the server could not be reached, where Swagger UI guesses at reasons. */
export const networkErrors = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        setResponse:
          (original: (path: string, method: string, response: Response) => unknown) =>
          (path: string, method: string, response: Response) =>
            original(
              path,
              method,
              response.error && response.err?.status === undefined
                ? { ...response, err: Object.assign(new Error(UNREACHABLE), { name: '' }) }
                : response,
            ),
      },
    },
  },
});
