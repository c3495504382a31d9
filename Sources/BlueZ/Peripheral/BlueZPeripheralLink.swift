import Bluetooth
import DBus
import Dispatch
import Utilities

/// The bottle's way to the air through bluetoothd: a GATT application and an advertisement, `bluez`, `bluez:hci1`.
///
/// One central at a time: while one is connected the advertisement is withdrawn, and another that comes all the same is
/// sent away. bluetoothd does not say which end asked for a connection, so a device counts as a central of ours when it
/// connects while we are published; only unpaired ones are ever sent away (a keyboard is paired, a bottle's central is
/// not).
package final class BlueZPeripheralLink: PeripheralLink {
    /// `bluez`, or `bluez:` with the adapter.
    package let name: String
    /// What happens, for one consumer.
    package let events: AsyncStream<PeripheralEvent>
    private let peripheral: BlueZPeripheral

    /// How values leave for bluetoothd.
    package enum NotificationWay: Sendable {
        /// By the socket that AcquireNotify hands over: three times faster, and what BlueZ prefers.
        case socket
        /// By PropertiesChanged.
        case signals
    }

    /// - Parameters:
    ///   - adapter: `hci1`; `nil`: the first with power.
    ///   - log: takes a line for a person about something odd.
    package init(
        adapter: String?, bus: DBusConnection.Bus = .system, notifications: NotificationWay = .socket,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        name = adapter.map { "bluez:\($0)" } ?? "bluez"
        peripheral = BlueZPeripheral(adapter: adapter, bus: bus, way: notifications, log: log)
        events = peripheral.flow.stream()
    }

    /// Who waits for events of a link that was forgotten waits no longer.
    deinit { peripheral.flow.finish() }

    package func perform(_ request: PeripheralRequest) {
        let peripheral = peripheral
        peripheral.executor.queue.async { peripheral.assumeIsolated { $0.perform(request) } }
    }

    package func open(_ application: GATTApplication) async throws(LinkError) { try await peripheral.open(application) }

    package func close() async { await peripheral.close() }

    package func caughtUp() async { await peripheral.flow.caughtUp() }

    package func ownAddress() async -> BluetoothAddress? { await peripheral.ownAddress() }
}

/// The state behind the link, on bluetoothd's queue.
actor BlueZPeripheral {
    nonisolated let executor: QueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// D-Bus cannot push back on a peer: whoever makes too many events wait is hung up on.
    nonisolated let flow = EventQueue<PeripheralEvent>()
    let service: BlueZService
    let adapterName: String?
    let way: BlueZPeripheralLink.NotificationWay
    let log: @Sendable (String) -> Void

    var application: GATTApplication?
    /// Where it is published, once it is.
    var adapter: String?
    var isPublished = false
    /// What the machine wants; shown only while nobody is connected.
    var wantsAdvertisement = true
    var isAdvertising = false
    /// Registering and withdrawing one after the other.
    var isChangingAdvertisement = false
    /// Why the bottle is not to be seen although it should be; `nil`: it is.
    var advertisingFailure: LinkError?
    /// Until the next attempt to show the advertisement, after one that failed.
    var advertisingBackoff = BlueZPeripheral.backoff
    /// The attempt that waits for its time.
    var advertisingRetry: Task<Void, Never>?
    /// Device path -> central.
    var centrals: [String: Central] = [:]
    var characteristics: [BluetoothUUID: Characteristic] = [:]
    var invocations: [UInt64: Pending] = [:]
    var lastToken: UInt64 = 0
    /// The adapter's own name, put back at the end.
    var formerAlias: String?
    var isClosed = false
    private var isPublishing = false
    /// `open` has succeeded: from then on it is published again whenever it can be.
    private var isOpen = false
    private var isWatching = false
    /// Until the next attempt to publish, after one that failed.
    private var publishingBackoff = BlueZPeripheral.backoff
    private var isRetrying = false

    /// Reads and writes that wait for the machine; more are refused. Also what may wait to be notified.
    static let pendingLimit = 256
    /// Pauses between attempts grow from the one to the other: soon enough for a switch, seldom enough for a night
    /// without power.
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))
    /// One machine asks its own bluetoothd: no crowd is to be kept from coming at the same moment, so the whole pause
    /// is waited.
    static let noChance = 1.0
    /// Events that may wait for the machine; beyond, writes are refused.
    static let eventLimit = 4096

    struct Central {
        var id: CentralID
        var mtu = 23
    }

    /// What a characteristic has beside its shape.
    struct Characteristic {
        var path: String
        var shape: LocalCharacteristic
        /// Sockets by central's device path.
        var sockets: [String: ValueSocket] = [:]
        /// Subscribed by StartNotify.
        var isNotifying = false
        /// Last whole answer to a read, for the blobs that follow it.
        var lastRead: [UInt8] = []
    }

    /// A call of bluetoothd that the machine has to answer.
    struct Pending {
        var token: DBusInvocation.Token
        var isRead: Bool
        /// Read at offset 0: its answer serves the blobs that follow.
        var read: BluetoothUUID?
    }

    init(
        adapter: String?, bus: DBusConnection.Bus, way: BlueZPeripheralLink.NotificationWay,
        log: @escaping @Sendable (String) -> Void
    ) {
        executor = QueueExecutor("bluez peripheral")
        service = BlueZService(bus: bus, executor: executor)
        adapterName = adapter
        self.way = way
        self.log = log
    }

    func emit(_ event: PeripheralEvent) { flow.yield(event) }

    func open(_ application: GATTApplication) async throws(LinkError) {
        guard self.application == nil else { throw LinkError(.outOfStep, "this link is published already") }
        let names = application.services.flatMap(\.characteristics).map(\.name)
        guard Set(names).count == names.count else {
            throw LinkError(.outOfStep, "a characteristic's name occurs twice in the application")
        }
        self.application = application
        watch()
        do throws(LinkError) {
            try await service.start()
            try await publish()
            isOpen = true
            // bluetoothd may have gone away again meanwhile.
            publishAgain()
        } catch {
            self.application = nil
            await service.close()
            throw error
        }
    }

    private func watch() {
        guard !isWatching else { return }
        isWatching = true
        service.assumeIsolated {
            $0.onChange { [weak self] change in
                guard let self else { return }
                self.assumeIsolated { $0.follow(change) }
            }
        }
    }

    /// Exports the objects and registers both at bluetoothd.
    private func publish() async throws(LinkError) {
        guard let application, !isClosed else { return }
        isPublishing = true
        defer { isPublishing = false }
        let adapter = try await service.poweredAdapter(named: adapterName)
        guard let connection = await service.connection else { throw BlueZService.absent }
        connection.assumeIsolatedExport(objects(for: application))
        self.adapter = adapter
        await takeName(application.name, adapter)
        _ = try await service.call(
            adapter, BlueZName.gattManager, "RegisterApplication",
            [.objectPath(PeripheralPaths.root), .properties([:])], limit: .seconds(20),
            "The GATT application could not be registered")
        isPublished = true
        do throws(LinkError) {
            try await changeAdvertisement()
        } catch {
            isPublished = false
            await withdrawApplication()
            throw error
        }
        isOnAir()
        publishingBackoff.reset()
    }

    /// The GAP Device Name (2A00) is bluetoothd's to serve, from the adapter's alias: while we are published it is the
    /// bottle's.
    private func takeName(_ name: String, _ adapter: String) async {
        let present = await service.objects[adapter, BlueZName.adapter]?["Alias"]?.text
        guard present != name else { return }
        do throws(LinkError) {
            try await service.setProperty(
                adapter, BlueZName.adapter, "Alias", .string(name), limit: .seconds(5),
                "The adapter's name could not be set")
            if formerAlias == nil { formerAlias = present }
        } catch {
            log(error.description)
        }
    }

    private func withdrawApplication() async {
        guard let adapter else { return }
        _ = try? await service.call(
            adapter, BlueZName.gattManager, "UnregisterApplication", [.objectPath(PeripheralPaths.root)],
            limit: .seconds(5), "Unregistering failed")
    }

    // MARK: - What bluetoothd tells

    private func follow(_ change: BlueZService.Change) {
        guard isPublished || isOpen, !isClosed else { return }
        switch change {
        case .appeared: publishAgain()
        case .disappeared(let error): unpublished(error)
        case .object(.changed(let path, BlueZName.device, let values)):
            if let connected = values["Connected"]?.bool { connectionChanged(path, connected) }
        case .object(.added(let path, let interfaces)):
            if interfaces.contains(BlueZName.device), isConnected(path) { connectionChanged(path, true) }
            // The managers come last of an adapter's interfaces.
            if interfaces.contains(BlueZName.gattManager) || interfaces.contains(BlueZName.adapter) { publishAgain() }
        case .object(.removed(let path, let interfaces)):
            if interfaces.contains(BlueZName.device) { connectionChanged(path, false) }
            if path == adapter, interfaces.contains(BlueZName.adapter) {
                unpublished(LinkError(.noAdapter, "The adapter has gone", isTransient: true))
            }
        case .object(.changed(let path, BlueZName.adapter, let values)) where path == adapter || adapter == nil:
            guard let isOn = values["Powered"]?.bool else { return }
            powerChanged(isOn)
        case .object(.changed(let path, BlueZName.advertisingManager, let values)) where path == adapter:
            // Ours is none of those on the air: bluetoothd has dropped it without a word.
            if values["ActiveInstances"]?.integer == 0, isAdvertising, !isChangingAdvertisement {
                advertisementReleased()
            }
        case .object(.changed): break
        }
    }

    /// The adapter's, which is the bottle's as long as it is published there.
    func ownAddress() -> BluetoothAddress? {
        guard let adapter else { return nil }
        return service.assumeIsolated { $0.objects[adapter, BlueZName.adapter]?["Address"]?.text }.flatMap {
            BluetoothAddress($0)
        }
    }

    private func isConnected(_ path: String) -> Bool {
        service.assumeIsolated { $0.objects[path, BlueZName.device]?["Connected"]?.bool == true }
    }

    private func isPaired(_ path: String) -> Bool {
        service.assumeIsolated { $0.objects[path, BlueZName.device]?["Paired"]?.bool == true }
    }

    /// The application survives without power, and so does an advertisement that was shown. The connections do not, and
    /// an advertisement that was withdrawn for one cannot be shown again before there is power.
    private func powerChanged(_ isOn: Bool) {
        guard isPublished else { return isOn ? publishAgain() : () }
        if isOn {
            advertisingBackoff.reset()
            if isAdvertising || !wantsAdvertisement { isOnAir(true) }
            updateAdvertisement()
        } else {
            let isTold = advertisingFailure == Self.withoutPower
            advertisingFailure = Self.withoutPower
            for path in centrals.keys.sorted() { connectionChanged(path, false) }
            if !isTold { emit(.unavailable(Self.withoutPower)) }
        }
    }

    private func unpublished(_ error: LinkError) {
        for path in centrals.keys.sorted() { connectionChanged(path, false) }
        let was = isPublished
        isPublished = false
        isAdvertising = false
        adapter = nil
        advertisingFailure = nil
        advertisingRetry?.cancel()
        if was { emit(.unavailable(error)) }
        // A bus that has gone says nothing when it is back.
        if service.assumeIsolated({ $0.connection == nil }) { publishAgain() }
    }

    /// Publishes again, now and, where that fails, later and later (1 s to 30 s).
    private func publishAgain() {
        guard !isPublished, !isPublishing, !isRetrying, !isClosed, isOpen else { return }
        isRetrying = true
        Task {
            do throws(LinkError) {
                try await service.start()
                try await publish()
                isRetrying = false
                emit(.available)
            } catch {
                isRetrying = false
                log("not published yet: \(error)")
                // A signal may bring it sooner.
                try? await Task.sleep(for: publishingBackoff.next(chance: Self.noChance))
                publishAgain()
            }
        }
    }

    func connectionChanged(_ path: String, _ isConnected: Bool) {
        guard let adapter, path.hasPrefix(adapter + "/"), isConnected != (centrals[path] != nil) else { return }
        if isConnected {
            guard isPublished else { return }
            guard centrals.isEmpty else {
                guard !isPaired(path) else { return }
                log("another central came while one is connected: sent away")
                Task {
                    try? await service.call(
                        path, BlueZName.device, "Disconnect", limit: .seconds(5), "Sending a central away failed")
                }
                return
            }
            let address = service.assumeIsolated { $0.objects[path, BlueZName.device]?["Address"]?.text }
            centrals[path] = Central(id: CentralID(address ?? path))
            emit(.connected(centrals[path]?.id ?? CentralID(path)))
        } else if let central = centrals.removeValue(forKey: path) {
            forgetSubscriptions(of: path, central.id)
            emit(.disconnected(central.id))
        }
        updateAdvertisement()
    }

    // MARK: - The end

    func close() async {
        guard !isClosed else { return }
        isClosed = true
        advertisingRetry?.cancel()
        if let adapter, isPublished {
            wantsAdvertisement = false
            _ = try? await service.call(
                adapter, BlueZName.advertisingManager, "UnregisterAdvertisement",
                [.objectPath(PeripheralPaths.advertisement)], limit: .seconds(5), "Unregistering failed")
            for path in centrals.keys.sorted() {
                _ = try? await service.call(
                    path, BlueZName.device, "Disconnect", limit: .seconds(5), "Disconnecting failed")
            }
            await withdrawApplication()
            if let formerAlias {
                try? await service.setProperty(
                    adapter, BlueZName.adapter, "Alias", .string(formerAlias), limit: .seconds(5),
                    "The adapter's name could not be put back")
            }
        }
        for path in centrals.keys.sorted() { forgetSubscriptions(of: path, nil) }
        await service.close()
        flow.finish()
    }
}
