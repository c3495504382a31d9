// For installation, and to open the page while the service is unavailable. The network takes precedence over the cache,
// so that a new version is used at once. The API is not cached.
const KEPT = 'waterh-1';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name !== KEPT) await caches.delete(name);
  await self.clients.claim();
})()));

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const address = new URL(request.url);
  // Pages and their files have a single path segment; the API, the widgets and the health routes are not cached.
  const isPage = /^\/[\w.-]*$/.test(address.pathname) && !['/healthz', '/readyz', '/metrics'].includes(address.pathname);
  if (request.method !== 'GET' || address.origin !== location.origin || !isPage) return;
  event.respondWith((async () => {
    const cache = await caches.open(KEPT);
    // All paths of the app are the same document.
    const key = address.origin + address.pathname;
    try {
      const answer = await fetch(request);
      if (answer.ok && answer.type === 'basic') await cache.put(key, answer.clone());
      return answer;
    } catch (error) {
      const kept = await cache.match(key) ?? (request.mode === 'navigate' ? await cache.match(`${address.origin}/`) : undefined);
      if (kept) return kept;
      throw error;
    }
  })());
});
