// Whose pages these are: `/people/anna/history` is Anna's. Where nobody is named the service knows who is meant.
const named = /^\/people\/([A-Za-z][\w-]*)(?=\/|$)/.exec(location.pathname);

/** Before every path of this person: `/people/anna`, or nothing. */
export const home = named?.[0] ?? '';
export const person = named?.[1] ?? null;

/** The path of one of these pages without whose it is: `/history`. */
export const pathOf = (path = location.pathname) => {
  const bare = home && (path === home || path.startsWith(`${home}/`)) ? path.slice(home.length) : path;
  return bare.replace(/\/+$/, '') || '/';
};
