/** The element with an id, which the page has. */
export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
