import { type ReactNode, useState } from 'react';
import { copy } from '../clipboard.ts';

interface Props {
  /** Called on click; undefined if there is nothing to copy. */
  text: () => string | undefined;
  children: ReactNode;
}

/** A button that copies a text to the clipboard and reports success. */
export function CopyButton({ text, children }: Props) {
  const [said, setSaid] = useState('');
  const onClick = async () => {
    const made = text();
    const isCopied = made !== undefined && (await copy(made));
    setSaid(
      made === undefined ? 'Nothing to copy' : isCopied ? 'Copied' : 'The browser does not allow copying',
    );
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
