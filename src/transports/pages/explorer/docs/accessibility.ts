import type { System } from './swagger.ts';

/** Labels for controls that Swagger UI leaves unlabelled. */
const NAMES: Record<string, string> = {
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.content-type': 'Media type',
  'textarea.body-param__text': 'Request body',
  '.parameters select': 'Value',
};

/** Removes the link that Swagger UI nests inside the button of an operation, which is not valid HTML. */
export const accessibility = () => ({
  wrapComponents: {
    DeepLink:
      (_original: unknown, { React }: System) =>
      ({ text }: { text: string }) =>
        React.createElement('span', null, text),
  },
});

/** Labels controls as they are added, and makes scrollable blocks reachable by keyboard. */
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
