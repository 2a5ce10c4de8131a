import { type ReactNode, useState } from 'react';
import { copy } from './copy.ts';

interface Props {
  /** Made when it is asked for; undefined if there is nothing to copy. */
  text: () => string | undefined;
  children: ReactNode;
}

/** A button that puts a text into the clipboard, and says so. */
export function CopyButton({ text, children }: Props) {
  const [said, setSaid] = useState('');
  const onClick = async () => {
    const made = text();
    const isCopied = made !== undefined && (await copy(made));
    setSaid(made === undefined ? 'Nothing to copy' : isCopied ? 'Copied' : 'The browser does not allow it');
    setTimeout(() => setSaid(''), 2_000);
  };
  return (
    <button type="button" className="copy-button" onClick={() => void onClick()}>
      {children}
      <span role="status" className="said">
        {said}
      </span>
    </button>
  );
}
