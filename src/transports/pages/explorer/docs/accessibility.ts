import { fixWhenAdded } from '../browser.ts';

/** Says what Scalar 1.72 leaves for assistive technology to guess. */
export const fixAccessibility = (): void =>
  fixWhenAdded({
    // A combobox without a list is a text field.
    '.scalar-app .code-input-lite__editor[role="combobox"]': (field) => {
      field.role = 'textbox';
      field.removeAttribute('aria-autocomplete');
      field.ariaLabel ??= field.dataset.placeholder ?? 'Value';
    },
    '.scalar-app .cm-content:not([aria-label])': (editor) => {
      editor.ariaLabel = editor.contentEditable === 'true' ? 'Request body' : 'Response body';
    },
    '.scalar-app button[class*="copy-button"]:not([aria-label])': (button) => {
      button.ariaLabel = 'Copy';
    },
    '.scalar-app button[role="none"]': (button) => button.removeAttribute('role'),
    '.scalar-app [aria-controls]': (control) => {
      if (!document.getElementById(control.getAttribute('aria-controls')!))
        control.removeAttribute('aria-controls');
    },
    '.scalar-app pre code:not([tabindex])': (code) => {
      if (code.scrollWidth > code.clientWidth || code.scrollHeight > code.clientHeight) code.tabIndex = 0;
    },
  });
