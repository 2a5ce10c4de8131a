/** What a library leaves for assistive technology to guess, by selector, and how to say it. */
export type Fixes = readonly [selector: string, fix: (element: HTMLElement) => void][];

/** Applies the fixes as elements are added. */
export function fixAccessibility(fixes: Fixes): void {
  let isDue = false;
  const fix = () => {
    isDue = false;
    for (const [selector, change] of fixes)
      for (const element of document.querySelectorAll<HTMLElement>(selector)) change(element);
  };
  new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(fix);
  }).observe(document.body, { childList: true, subtree: true });
}
