/** What Scalar leaves for assistive technology to guess, by selector. */
const FIXES: readonly [selector: string, fix: (element: HTMLElement) => void][] = [
  // A combobox without a list is a text field.
  [
    '.code-input-lite__editor[role="combobox"]',
    (field) => {
      field.role = 'textbox';
      field.removeAttribute('aria-autocomplete');
      field.ariaLabel ??= field.dataset.placeholder ?? 'Value';
    },
  ],
  [
    '.cm-content:not([aria-label])',
    (editor) => {
      editor.ariaLabel = editor.contentEditable === 'true' ? 'Request body' : 'Response body';
    },
  ],
  ['button[class*="copy-button"]:not([aria-label])', (button) => (button.ariaLabel = 'Copy')],
  ['button[role="none"]', (button) => button.removeAttribute('role')],
  [
    '[aria-controls]',
    (control) => {
      if (!document.getElementById(control.getAttribute('aria-controls')!))
        control.removeAttribute('aria-controls');
    },
  ],
  [
    'pre code:not([tabindex])',
    (code) => {
      if (code.scrollWidth > code.clientWidth || code.scrollHeight > code.clientHeight) code.tabIndex = 0;
    },
  ],
];

/** Applies the fixes as elements are added. */
export function fixAccessibility(): void {
  const fix = () => {
    isDue = false;
    for (const [selector, change] of FIXES)
      for (const element of document.querySelectorAll<HTMLElement>(`.scalar-app ${selector}`))
        change(element);
  };
  let isDue = false;
  new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(fix);
  }).observe(document.body, { childList: true, subtree: true });
}
