/** The path prefix below Home Assistant's ingress; otherwise empty. */
export const mount = /^\/api\/hassio_ingress\/[\w-]+(?=\/|$)/.exec(location.pathname)?.[0] ?? '';

/** The path of a view without the prefix: `/history`. */
export const pathOf = (path = location.pathname) => {
  const bare = mount && (path === mount || path.startsWith(`${mount}/`)) ? path.slice(mount.length) : path;
  return bare.replace(/\/+$/, '') || '/';
};
