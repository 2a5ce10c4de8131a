import type { ComponentPropsWithoutRef } from 'react';

type Props = ComponentPropsWithoutRef<'svg'>;

const icon = (path: string) => (props: Props) => (
  // biome-ignore lint/a11y/noSvgWithoutTitle: GraphiQL hides it from screen readers and labels the button
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinejoin="round"
    {...props}
  >
    <path d={path} />
  </svg>
);

export const BookIcon = icon('M4 5h7v14H4zM13 5h7v14h-7zM6 9h3M6 12h3M15 9h3M15 12h3');
export const CoinIcon = icon(
  'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18zM12 7v10M9 9h4.5a1.5 1.5 0 0 1 0 3H10.500a1.500 1.500 0 0 0 0 3H15',
);
