/** Below which path of another site these pages stand: Home Assistant's ingress gives them one, else there is none. */
export const mount = /^\/api\/hassio_ingress\/[\w-]+(?=\/|$)/.exec(location.pathname)?.[0] ?? '';

// Whose pages these are: `/people/anna/history` is Anna's. Where nobody is named the service knows who is meant.
const named = /^\/people\/([A-Za-z][\w-]*)(?=\/|$)/.exec(location.pathname.slice(mount.length));

/** What stands for this person in a path: `/people/anna`, or nothing. */
export const owner = named?.[0] ?? '';
/** Before every path of this person. */
export const home = mount + owner;
export const person = named?.[1] ?? null;

/** The path of one of these pages without whose it is: `/history`. */
export const pathOf = (path = location.pathname) => {
  const bare = home && (path === home || path.startsWith(`${home}/`)) ? path.slice(home.length) : path;
  return bare.replace(/\/+$/, '') || '/';
};
