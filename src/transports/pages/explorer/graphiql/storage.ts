/** Removes headers, which the history would otherwise write to disk. */
const withoutHeaders = (text: string): string =>
  text.includes('"headers"')
    ? JSON.stringify(JSON.parse(text), (name, value) => (name === 'headers' ? null : value))
    : text;

const NAMESPACE = 'graphiql:';
const names = () => Object.keys(localStorage).filter((name) => name.startsWith(NAMESPACE));

/** Relations of the panes until the user drags them: the answer gets the wider half. */
const FIRST_SIZES: Record<string, string> = {
  'graphiql:docExplorerFlex': '0.3',
  'graphiql:editorFlex': '0.75',
};

/** Storage for GraphiQL's tabs, history and settings, which persist across visits. */
export const storage = {
  getItem: (name: string) => localStorage.getItem(name) ?? FIRST_SIZES[name] ?? null,
  setItem: (name: string, value: string) => localStorage.setItem(name, withoutHeaders(value)),
  removeItem: (name: string) => localStorage.removeItem(name),
  clear: () => {
    for (const name of names()) localStorage.removeItem(name);
  },
  get length() {
    return names().length;
  },
};
