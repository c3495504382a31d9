/** Below which path of another site these pages stand: Home Assistant's ingress gives them one, else there is none. */
export const mount = /^\/api\/hassio_ingress\/[\w-]+(?=\/|$)/.exec(location.pathname)?.[0] ?? '';

/** The path of one of these pages below the mount: `/history`. */
export const pathOf = (path = location.pathname) => {
  const bare = mount && (path === mount || path.startsWith(`${mount}/`)) ? path.slice(mount.length) : path;
  return bare.replace(/\/+$/, '') || '/';
};
