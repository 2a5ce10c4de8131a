export const ICON_PATH = '/favicon.svg';

/** A paw. */
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#0b5c52"/>
<g fill="#fff">
<ellipse cx="16" cy="21" rx="6.2" ry="5.2"/>
<ellipse cx="7.6" cy="15.6" rx="2.5" ry="3.2" transform="rotate(-24 7.6 15.6)"/>
<ellipse cx="12.6" cy="9.8" rx="2.6" ry="3.5" transform="rotate(-8 12.6 9.8)"/>
<ellipse cx="19.4" cy="9.8" rx="2.6" ry="3.5" transform="rotate(8 19.4 9.8)"/>
<ellipse cx="24.4" cy="15.6" rx="2.5" ry="3.2" transform="rotate(24 24.4 15.6)"/>
</g>
</svg>
`;

/** The same at 32 pixels, for browsers without SVG icons. */
const ICO = [
  'AAABAAEAICAAAAEAIABhBAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAABBZJREFUeJzEV31MW1UU/93X',
  '12KL5UMYG8XhFDOGDuaiGF2YCv5BZEbZjEwHbJMsZhrNxKjBP4zGuGQ4DSpRSVTUKMZNM2qcCtNoIlHJPlwDU4hhGW4MGeOjbKxA',
  'W7jecwPV19fZy8bwl7TvvHN+957zzj333Pd0/BubixMcAVYppFsYww0AS8GcgPdzDo8QWn1WXoMP3N4ZC5sRHKXFd4nbdxljLlxC',
  'cM57xf8WX4P7m1AAsRvuK4TGmzCP4HyqiIJg2LAm0aHZfmNgqZhHUCZ8fj1bt7OYTSIN8+qcQEttt01u1DVRcPifQL4t1pysV0TF',
  'J0Qj23Qd24ruxbNr1yM18QocPNqFKT4lbTFWKyrvLkZVcQkWJiTiwNE/KMXRpoRgOHXh/CoooLZiK0pX50u5YHkOFglHz3xcL++r',
  'Sx/CljsLQ7aMhYvweH1d1DnJtwYFaExDyarVBl357QXTk4g6zrvDYCu7LR+q0FVIlGqrxUh1XmbHNeJJNRGAIybGYGP/tJeoUMoA',
  'oX/Ea9I57XbEO2LN3DNezHkA37YdNul6BgZwcmjQpG/2/IqLDqBg+Qo8WrhGVjxh+55dGD43GrI3tPyAwdGz6PMOY9fPLSE9caq/',
  '+FzKrsQkOQcV5vnAYsvWmfbL9gc3iS13j5QnAgHkPfc0Ok6ewOKkBViSkoLTIyPo7O0xjMlKW4zkuDgc6z+FnsEBZKcvQcuLL0O3',
  'WKT91S/34PndDdEDSHbGofut9w0kcp5b9QRmg0PVbyDTlWbQuR4ux5kxn0FnWoIxvx+BySDCn27l1RnhVCxNTZO/cORmLDU5p0z6',
  'g0ET17QNz02Mw72/FfffmmfQJzmd8nr9lemoWlsiayTe4ZC6EZ8P37UfFmluRNufx+RShMN9oBXjAb9JH7EGqHg8O2tD+5vW9Kaq',
  'baINl8h2fD5Q+6Ugar5qxMEdr4cK+Oz4GFY89VjErWyx5WS9EK6kAT92HJE9vqPnBMpqd6JoZS5eemAj/gvUFVdlZskxVHAUAGXk',
  'yQ/fQVdfb+QxkTIQCb/X1CE9eYEKFccHTuO6yq1KXKVGlBKfoOycQFwaowKls2C2oLMjOBlU4iplgIqH0qqKrr6/MDQ6qsRVPguo',
  'FatiR+NnylzlAKj3v/f9vqi8N5v3YvcvLVCFxZa97BGxfy5XITd5DqHteDduvjbTdAxTr6h4+zXU7fsayuD8FHOUrmsS27cQswRV',
  'uWu60fQOD0VsMtH9o1nnjHvEG8ysAyCHF+LUEIDwrfEgF2+P/OJmujD3XvKtjX/q7p7irALzDNEqNpNv+bYQbO/otGZn7hdivujn',
  'TlxCTH+crvd94t5L95YZQ6C9sytw47J66yTozJwQhemkowJzAvl5/pMQGsTneXngI/eRGcvfAAAA///7P28FAAAABklEQVQDACa0',
  'eH6hN2KFAAAAAElFTkSuQmCC',
].join('');

export const ICONS = [
  { path: ICON_PATH, contentType: 'image/svg+xml', content: () => SVG },
  // Requested by browsers for pages without an icon link.
  { path: '/favicon.ico', contentType: 'image/x-icon', content: () => Buffer.from(ICO, 'base64') },
];
