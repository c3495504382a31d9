package import Bluetooth
package import DBus
import Dispatch

/// A central link through bluetoothd: `bluez`, or `bluez:hci0`.
///
/// The link never polls: it waits for signals of bluetoothd with a time limit. The actor runs on the queue of the bus
/// connection, so it handles signals in order.
package actor BlueZCentralLink: CentralLink {
    package nonisolated let name: String
    package nonisolated let hasRadio = true
    package nonisolated let events: AsyncStream<CentralEvent>
    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// D-Bus has no back pressure for a peer: one that causes too many pending events is disconnected.
    nonisolated let eventQueue = EventQueue<CentralEvent>()
    let service: BlueZService
    let adapterName: String?
    let notificationMethod: NotificationMethod
    var held: HeldConnections
    let log: @Sendable (String) -> Void

    var adapter: String?
    var isScanning = false
    /// The advertisement that was last reported for each peer, so that only changes are reported.
    var reported: [String: Advertisement] = [:]
    var session: Session?
    /// The devices that are being removed; `true` once bluetoothd has removed them. A scan can add them again at once.
    var removing: [String: Bool] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastSession: UInt64 = 0
    private var lastWaiter: UInt64 = 0
    private var operations: Task<Void, Never>?
    private var wasAvailable = true
    private var isClosed = false

    /// The maximum number of pending events, above which the peer is disconnected.
    static let eventLimit = 8192
    /// The maximum number of peers during a scan.
    static let reportedLimit = 4096

    struct Session {
        var number: UInt64
        var peer: PeerID
        var device: String
        /// Whether another program established the connection.
        var isShared = false
        var isConnected = false
        var isAnswered = false
        var failure: LinkError?
        /// Whether this side is ending the connection, so that `disconnected` has no error.
        var isEnding = false
        /// Whether a write without response was sent and nothing has been received since.
        var hasUnconfirmedWrite = false
        var mtu = 23
        var table = RemoteTable()
        /// The paths of characteristics whose values arrive as signals.
        var subscribed: Set<String> = []
        var sockets: [UInt16: PacketSocket] = [:]
    }

    struct Waiter {
        var isDone: @Sendable (isolated BlueZCentralLink) -> Bool
        var wake: @Sendable (Bool) -> Void
    }

    /// - Parameters:
    ///   - adapter: `hci0`, or its address; `nil` for the first powered one.
    ///   - log: logs one line about an unusual event.
    ///   - held: the connections of this user's gateways; `nil` if all are another program's.
    package init(
        adapter: String?, bus: DBusConnection.Bus = .system, notifications: NotificationMethod = .signals,
        held: HeldConnections? = nil, log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        name = adapter.map { "bluez:\($0)" } ?? "bluez"
        events = eventQueue.stream()
        executor = QueueExecutor("bluez central")
        service = BlueZService(bus: bus, executor: executor)
        adapterName = adapter
        notificationMethod = notifications
        self.held = held ?? HeldConnections(folder: nil)
        self.log = log
    }

    deinit { eventQueue.finish() }

    package nonisolated func perform(_ request: CentralRequest) {
        // The queue keeps the order of requests from any thread.
        executor.queue.async { self.assumeIsolated { $0.begin(request) } }
    }

    /// Starts a request. Connection requests run separately, so that `disconnect` can cancel them.
    private func begin(_ request: CentralRequest) {
        guard !isClosed else { return }
        switch request {
        case .startScan: Task { await startScan() }
        case .stopScan: Task { await stopScan() }
        case .connect(let peer, let limit): Task { await connect(peer, limit: limit) }
        case .disconnect: Task { await disconnect() }
        case .clearCache(let peer): Task { await clearCache(peer) }
        case .powerCycle: Task { await powerCycle() }
        case .discover: enqueue { await $0.discover() }
        case .read(let handle): enqueue { await $0.read(handle) }
        case .write(let handle, let value, let withResponse):
            enqueue { await $0.write(handle, value, withResponse: withResponse) }
        case .subscribe(let handle): enqueue { await $0.subscribe(handle) }
        }
    }

    /// GATT operations run one at a time: bluetoothd rejects a second operation on a characteristic (InProgress), and
    /// writes must keep their order. If the connection ends first, `disconnected` answers all of them.
    private func enqueue(_ operation: @escaping @Sendable (isolated BlueZCentralLink) async -> Void) {
        let (previous, number) = (operations, session?.number)
        operations = Task {
            await previous?.value
            if session?.number == number { await operation(self) }
        }
    }

    func emit(_ event: CentralEvent) { eventQueue.yield(event) }

    func poweredAdapter() async throws(LinkError) -> String {
        // Do not suspend if everything is ready, so that writes keep their order.
        if let adapter, isPowered(adapter) { return adapter }
        await service.onChange { [weak self] change in self?.assumeIsolated { $0.handle(change) } }
        try await service.start()
        let found = try await service.poweredAdapter(named: adapterName)
        adapter = found
        return found
    }

    func objects<Answer: Sendable>(_ body: @Sendable (BlueZObjects) -> Answer) -> Answer {
        service.assumeIsolated { body($0.objects) }
    }

    func isPowered(_ adapter: String) -> Bool {
        objects { $0[adapter, BlueZName.adapter]?["Powered"]?.bool == true }
    }

    func deviceProperty(_ path: String, _ property: String) -> DBusValue? {
        objects { $0[path, BlueZName.device]?[property] }
    }

    /// Waits until `isDone` is true, checked after every change. Returns `false` after `limit`.
    func wait(limit: Duration, until isDone: @escaping @Sendable (isolated BlueZCentralLink) -> Bool) async -> Bool {
        if isDone(self) { return true }
        lastWaiter += 1
        let number = lastWaiter
        let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: Int64(limit / .nanoseconds(1))))
        return await withCheckedContinuation { continuation in
            waiters[number] = Waiter(isDone: isDone) { continuation.resume(returning: $0) }
            executor.queue.asyncAfter(deadline: deadline) { [weak self] in
                self?.assumeIsolated { $0.waiters.removeValue(forKey: number)?.wake(false) }
            }
        }
    }

    func wakeWaiters() {
        for (number, waiter) in waiters.sorted(by: { $0.key < $1.key }) where waiter.isDone(self) {
            waiters.removeValue(forKey: number)?.wake(true)
        }
    }

    private func handle(_ change: BlueZService.Change) {
        switch change {
        case .appeared: break
        case .disappeared(let error):
            endSession(error)
            isScanning = false
            adapter = nil
        case .object(let change): handle(change)
        }
        reportAvailability(change)
        wakeWaiters()
    }

    private func handle(_ change: BlueZObjects.Change) {
        switch change {
        case .added(let path, let interfaces):
            if interfaces.contains(BlueZName.device) { reportAdvertiser(path, isNew: true) }
        case .changed(let path, BlueZName.gattCharacteristic, let values):
            receiveProperties(path, values)
        case .changed(let path, BlueZName.device, let values):
            if path == session?.device, values["Connected"]?.bool == false {
                endSession(LinkError(.disconnected, "The bottle's connection has ended", isTransient: true))
            }
            reportAdvertiser(path, isNew: values["RSSI"] != nil || values["Name"] != nil || values["UUIDs"] != nil)
        case .changed(let path, BlueZName.adapter, let values)
        where path == adapter && values["Powered"]?.bool == false:
            endSession(LinkError(.poweredOff, "The adapter was switched off", isTransient: true))
        case .removed(let path, let interfaces):
            if path == session?.device, interfaces.contains(BlueZName.device) {
                endSession(
                    LinkError(
                        .disconnected, "bluetoothd removed the bottle during the connection", isTransient: true))
            }
            if interfaces.contains(BlueZName.device), removing[path] != nil { removing[path] = true }
            if path == adapter, interfaces.contains(BlueZName.adapter) {
                endSession(LinkError(.noAdapter, "The adapter was removed", isTransient: true))
                adapter = nil
                isScanning = false
            }
        case .changed: break
        }
    }

    private func reportAvailability(_ change: BlueZService.Change) {
        let error: LinkError?
        switch change {
        case .disappeared(let reason): error = reason
        // During a scan the devices change often.
        case .object(.changed(_, let interface, _)) where interface != BlueZName.adapter: return
        default:
            switch service.assumeIsolated({ [adapterName] service in
                Result { () throws(LinkError) in try service.poweredAdapter(named: adapterName) }
            }) {
            case .success(let found):
                if adapter == nil { adapter = found }
                error = nil
            case .failure(let reason): error = reason
            }
        }
        if let error, wasAvailable {
            wasAvailable = false
            isScanning = false
            emit(.unavailable(error))
        } else if error == nil, !wasAvailable {
            wasAvailable = true
            emit(.available)
        }
    }

    /// Ends the session. The event has no error if this side disconnected.
    func endSession(_ error: LinkError) {
        guard let session else { return }
        self.session = nil
        for socket in session.sockets.values { socket.close() }
        if !session.isShared { held.release(session.peer.text) }
        switch (session.isConnected, session.isEnding) {
        case (true, let byUs): emit(.disconnected(byUs ? nil : error))
        case (false, false): emit(.connectFailed(error))
        case (false, true): break  // `disconnect` answers.
        }
    }

    package func close() async {
        guard !isClosed else { return }
        isClosed = true
        if let session, session.isConnected, !session.isShared {
            await service.disconnect(session.device, limit: .seconds(3))
            let device = session.device
            if await wait(limit: .seconds(2), until: { $0.deviceProperty(device, "Connected")?.bool != true }) {
                held.release(session.peer.text)
            }
        }
        session?.sockets.values.forEach { $0.close() }
        session = nil
        // bluetoothd ends a process's discovery when the process closes its bus connection.
        await service.close()
        for waiter in waiters.values { waiter.wake(false) }
        waiters = [:]
        eventQueue.finish()
    }
}
