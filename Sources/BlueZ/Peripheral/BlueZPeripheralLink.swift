package import Bluetooth
package import DBus
import Dispatch
import Utilities

/// A peripheral link through bluetoothd: a GATT application and an advertisement, `bluez`, `bluez:hci1`.
///
/// One central at a time: while one is connected, the advertisement is unregistered, and another one is disconnected.
/// bluetoothd does not report which end connected. A device counts as the central of this link if it connects while the
/// application is published. Only unpaired devices are disconnected: a keyboard is paired, a bottle's central is not.
/// The actor runs on the queue of the bus connection.
package actor BlueZPeripheralLink: PeripheralLink {
    package nonisolated let name: String
    package nonisolated let events: AsyncStream<PeripheralEvent>
    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// D-Bus has no back pressure for a peer: one that causes too many pending events is disconnected.
    nonisolated let eventQueue = EventQueue<PeripheralEvent>()
    let service: BlueZService
    let adapterName: String?
    let notificationMethod: NotificationMethod
    let log: @Sendable (String) -> Void

    var application: GATTApplication?
    var adapter: String?
    var isPublished = false
    /// Whether advertising is requested. It is active only while no central is connected.
    var isAdvertisingRequested = true
    var isAdvertising = false
    /// The error that was reported last; `nil` while the peripheral is available.
    var failure: LinkError?
    /// The pauses between attempts: short after a restart, and long if the adapter has no power for hours.
    var backoff = Backoff(first: .seconds(1), longest: .seconds(30))
    var retry: Task<Void, Never>?
    /// Whether a task of `update` is running.
    var isUpdating = false
    var centrals: [String: Central] = [:]
    var characteristics: [BluetoothUUID: Characteristic] = [:]
    var pendingCalls: [UInt64: PendingCall] = [:]
    var lastToken: UInt64 = 0
    var aliasToRestore: String?
    var isClosed = false
    /// Whether `open` has succeeded. From then on, `update` publishes the application again when it is lost.
    var isOpen = false

    /// The maximum number of pending reads and writes; further ones are rejected. Also the limit of pending values.
    static let pendingLimit = 256
    /// The maximum number of pending events; above it, writes are rejected.
    static let eventLimit = 4096

    struct Central {
        var id: CentralID
        var mtu = 23
    }

    struct Characteristic {
        var path: String
        var definition: LocalCharacteristic
        /// The centrals that receive values through a socket, by device path.
        var sockets: [String: Subscriber] = [:]
        /// Whether bluetoothd has called StartNotify.
        var isNotifying = false
        /// The last whole response to a read, for the following Read Blob requests.
        var lastRead: [UInt8] = []
    }

    /// A client of AcquireNotify. Its socket carries the values to bluetoothd: one packet is one value.
    struct Subscriber {
        var socket: PacketSocket
        /// The number of values in the socket's queue.
        var pending = 0
    }

    struct PendingCall {
        var token: DBusInvocation.Token
        var isRead: Bool
        /// Set for a read at offset 0. Its response also answers the following Read Blob requests.
        var longRead: BluetoothUUID?
    }

    /// - Parameters:
    ///   - adapter: `hci1`; `nil` for the first powered one.
    ///   - log: logs one line about an unusual event.
    package init(
        adapter: String?, bus: DBusConnection.Bus = .system, notifications: NotificationMethod = .socket,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        name = adapter.map { "bluez:\($0)" } ?? "bluez"
        events = eventQueue.stream()
        executor = QueueExecutor("bluez peripheral")
        service = BlueZService(bus: bus, executor: executor)
        adapterName = adapter
        notificationMethod = notifications
        self.log = log
    }

    deinit { eventQueue.finish() }

    package nonisolated func perform(_ request: PeripheralRequest) {
        executor.queue.async { self.assumeIsolated { $0.begin(request) } }
    }

    package nonisolated func waitUntilEventsAreProcessed() async { await eventQueue.waitUntilEventsAreProcessed() }

    func emit(_ event: PeripheralEvent) { eventQueue.yield(event) }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        guard self.application == nil else { throw LinkError(.invalidState, "this link is already published") }
        let identifiers = application.services.flatMap(\.characteristics).map(\.id)
        guard Set(identifiers).count == identifiers.count else {
            throw LinkError(.invalidState, "a characteristic's identifier occurs twice in the application")
        }
        self.application = application
        await service.onChange { [weak self] change in self?.assumeIsolated { $0.handle(change) } }
        do throws(LinkError) {
            try await service.start()
            try await publish(application)
            try await changeAdvertisement()
            isOpen = true
            // bluetoothd might have ended again.
            update()
        } catch {
            (self.application, isPublished) = (nil, false)
            await restoreAdapterName()
            await service.close()
            throw error
        }
    }

    func publish(_ application: GATTApplication) async throws(LinkError) {
        let adapter = try await service.poweredAdapter(named: adapterName)
        guard let connection = await service.connection else { throw BlueZService.notRunning }
        export(application, on: connection)
        self.adapter = adapter
        await setAdapterName(application.name, adapter)
        _ = try await service.call(
            adapter, BlueZName.gattManager, "RegisterApplication",
            [.objectPath(PeripheralPaths.root), .properties([:])], limit: .seconds(20),
            "Cannot register the GATT application")
        // bluetoothd might have ended since its reply.
        guard self.adapter == adapter else { throw BlueZService.notRunning }
        isPublished = true
    }

    /// bluetoothd serves the GAP Device Name (2A00) from the adapter's alias, so the alias is set to the bottle's name.
    private func setAdapterName(_ name: String, _ adapter: String) async {
        let present = await service.objects[adapter, BlueZName.adapter]?["Alias"]?.text
        guard present != name else { return }
        do throws(LinkError) {
            try await service.setProperty(
                adapter, BlueZName.adapter, "Alias", .string(name), limit: .seconds(5),
                "Cannot set the adapter's name")
            if aliasToRestore == nil { aliasToRestore = present }
        } catch {
            log(error.description)
        }
    }

    private func restoreAdapterName() async {
        guard let adapter, let aliasToRestore else { return }
        try? await service.setProperty(
            adapter, BlueZName.adapter, "Alias", .string(aliasToRestore), limit: .seconds(5),
            "Cannot restore the adapter's name")
    }

    // MARK: - Events of bluetoothd

    private func handle(_ change: BlueZService.Change) {
        guard isPublished || isOpen, !isClosed else { return }
        switch change {
        case .appeared: update()
        case .disappeared(let error): unpublished(error)
        case .object(.changed(let path, BlueZName.device, let values)):
            if let connected = values["Connected"]?.bool { connectionChanged(path, connected) }
        case .object(.added(let path, let interfaces)):
            if interfaces.contains(BlueZName.device), property(path, BlueZName.device, "Connected")?.bool == true {
                connectionChanged(path, true)
            }
            // bluetoothd adds the manager interfaces last.
            if interfaces.contains(BlueZName.gattManager) || interfaces.contains(BlueZName.adapter) { update() }
        case .object(.removed(let path, let interfaces)):
            if interfaces.contains(BlueZName.device) { connectionChanged(path, false) }
            if path == adapter, interfaces.contains(BlueZName.adapter) {
                unpublished(LinkError(.noAdapter, "The adapter was removed", isTransient: true))
            }
        case .object(.changed(let path, BlueZName.adapter, let values)) where path == adapter || adapter == nil:
            guard let isOn = values["Powered"]?.bool else { return }
            powerChanged(isOn)
        case .object(.changed(let path, BlueZName.advertisingManager, let values)) where path == adapter:
            // No advertisement is active: bluetoothd has dropped the registered one.
            if values["ActiveInstances"]?.integer == 0, isAdvertising, !isUpdating {
                advertisementReleased()
            }
        case .object(.changed): break
        }
    }

    package func ownAddress() -> BluetoothAddress? {
        adapter.flatMap { property($0, BlueZName.adapter, "Address")?.text }.flatMap { BluetoothAddress($0) }
    }

    func property(_ path: String, _ interface: String, _ name: String) -> DBusValue? {
        service.assumeIsolated { $0.objects[path, interface]?[name] }
    }

    /// Handles a change of power. Without power, the application and an active advertisement survive; connections do
    /// not.
    private func powerChanged(_ isOn: Bool) {
        if isOn {
            backoff.reset()
            update()
        } else if isPublished {
            for path in centrals.keys.sorted() { connectionChanged(path, false) }
            report(Self.poweredOff)
        }
    }

    private func unpublished(_ error: LinkError) {
        for path in centrals.keys.sorted() { connectionChanged(path, false) }
        if isPublished { report(error) }
        isPublished = false
        isAdvertising = false
        adapter = nil
        // No signal reports that the bus is available again after its connection was lost.
        if service.assumeIsolated({ $0.connection == nil }) { update() }
    }

    func connectionChanged(_ path: String, _ isConnected: Bool) {
        guard let adapter, path.hasPrefix(adapter + "/"), isConnected != (centrals[path] != nil) else { return }
        if isConnected {
            guard isPublished else { return }
            guard centrals.isEmpty else {
                guard property(path, BlueZName.device, "Paired")?.bool != true else { return }
                log("disconnected a second central")
                Task { await service.disconnect(path) }
                return
            }
            let central = CentralID(property(path, BlueZName.device, "Address")?.text ?? path)
            centrals[path] = Central(id: central)
            emit(.connected(central))
        } else if let central = centrals.removeValue(forKey: path) {
            removeSubscriptions(of: path, central.id)
            emit(.disconnected(central.id))
        }
        update()
    }

    // MARK: - Closing

    package func close() async {
        guard !isClosed else { return }
        isClosed = true
        retry?.cancel()
        if let adapter, isPublished {
            isAdvertisingRequested = false
            _ = try? await service.call(
                adapter, BlueZName.advertisingManager, "UnregisterAdvertisement",
                [.objectPath(PeripheralPaths.advertisement)], limit: .seconds(5), "Unregistering failed")
            for path in centrals.keys.sorted() {
                await service.disconnect(path)
            }
            _ = try? await service.call(
                adapter, BlueZName.gattManager, "UnregisterApplication", [.objectPath(PeripheralPaths.root)],
                limit: .seconds(5), "Unregistering failed")
        }
        await restoreAdapterName()
        for path in centrals.keys.sorted() { removeSubscriptions(of: path, nil) }
        await service.close()
        eventQueue.finish()
    }
}
