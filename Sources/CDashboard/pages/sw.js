// For installing, and so that the page opens while the service is away. Always the network first: what is kept is only the second
// choice, so that a new version is seen at once. Nothing of the API is ever kept.
const KEPT = 'waterh-1';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name !== KEPT) await caches.delete(name);
  await self.clients.claim();
})()));

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const address = new URL(request.url);
  // Pages (also one person's of several) and their files have one step in their address; the API, the widgets and the service's health are nobody's to keep.
  const isPage = /^(\/people\/[\w-]+)?\/[\w.-]*$/.test(address.pathname) && !['/healthz', '/readyz', '/metrics'].includes(address.pathname);
  if (request.method !== 'GET' || address.origin !== location.origin || !isPage) return;
  event.respondWith((async () => {
    const cache = await caches.open(KEPT);
    // Every address of the app is the same document.
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

// What the service pushes while no page is open. Each message is encrypted for this browser alone; it is shown whatever it is, since a push without a notification is
// held against the page.
self.addEventListener('push', (event) => {
  let told = {};
  try { told = event.data?.json() ?? {}; } catch { /* Nothing of ours: only that there is something is known. */ }
  event.waitUntil(present(told));
});

const present = (told) => self.registration.showNotification(told.title ?? 'Hydration', {
  body: told.body ?? '', tag: told.tag ?? 'waterh', renotify: Boolean(told.tag) && !told.silent, silent: Boolean(told.silent), requireInteraction: Boolean(told.stays),
  icon: '/icon.svg', data: told, actions: (told.buttons ?? []).slice(0, 2).map(({ action, title }) => ({ action, title })),
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const told = event.notification.data ?? {};
  event.waitUntil(event.action ? press(told, event.action) : open(told.page ?? '/'));
});

/** Does what a button says. The key acts once for each button, so it may be sent again; where nobody answers the notification comes back, and nothing is lost in silence. */
async function press(told, action) {
  for (const pause of [0, 2000, 5000]) {
    if (pause) await new Promise((resume) => { setTimeout(resume, pause); });
    try {
      const answer = await fetch('/api/v1/press', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action, key: told.key }), signal: AbortSignal.timeout(10_000),
      });
      if (answer.status < 500 && answer.status !== 429) return;
    } catch { /* The service is away: once more. */ }
  }
  await present({ ...told, silent: true });
}

/** The page of the day, in a window that is open already or a new one. */
async function open(page) {
  const address = new URL(page, self.location.origin);
  if (address.origin !== self.location.origin) return;
  const windows = await self.clients.matchAll({ type: 'window' });
  const there = windows.find((each) => new URL(each.url).pathname === address.pathname);
  if (there) await there.focus();
  else await self.clients.openWindow(address.href);
}

// Whose page this is, for when the browser changes its subscription by itself: that is told to nobody else.
const HOME = '/push-home';
self.addEventListener('message', (event) => {
  if (typeof event.data?.home !== 'string') return;
  event.waitUntil(caches.open(KEPT).then((cache) => cache.put(HOME, new Response(event.data.home))));
});

self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil((async () => {
  const key = event.oldSubscription?.options.applicationServerKey;
  const next = event.newSubscription ?? (key && await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  if (!next) return;
  const home = await (await (await caches.open(KEPT)).match(HOME))?.text() ?? '';
  const text = (name) => btoa(String.fromCharCode(...new Uint8Array(next.getKey(name)))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  await fetch(`/api/v1${home}/push/subscriptions`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ endpoint: next.endpoint, p256dh: text('p256dh'), auth: text('auth'), label: 'Browser' }),
  });
})()));
