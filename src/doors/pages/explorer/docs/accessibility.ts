import type { System } from './swagger.ts';

/** What controls of Swagger UI are for, where it doesn't say. */
const NAMES: Record<string, string> = {
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.content-type': 'Media type',
  'textarea.body-param__text': 'Request body',
  '.parameters select': 'Value',
};

/** The link in the summary of an operation stood in a button, where no link may be. */
export const accessibility = () => ({
  wrapComponents: {
    DeepLink:
      (_original: unknown, { React }: System) =>
      ({ text }: { text: string }) =>
        React.createElement('span', null, text),
  },
});

/** Names controls as they come into the page, and lets the keyboard scroll what the mouse can scroll. */
export function nameControls(root: HTMLElement): void {
  const name = () => {
    for (const [selector, label] of Object.entries(NAMES)) {
      for (const control of root.querySelectorAll(`${selector}:not([aria-label])`))
        control.setAttribute('aria-label', label);
    }
    for (const code of root.querySelectorAll<HTMLElement>('pre:not([tabindex])')) {
      if (code.scrollWidth > code.clientWidth || code.scrollHeight > code.clientHeight) code.tabIndex = 0;
    }
  };
  let isDue = false;
  new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      name();
    });
  }).observe(root, { childList: true, subtree: true });
}
