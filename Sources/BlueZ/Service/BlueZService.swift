import Bluetooth
import DBus
import Dispatch

/// bluetoothd as the links use it: the bus connection, the cached objects, and whether bluetoothd runs.
///
/// The service shares its executor with the link, so the link sees each change at once and in order.
actor BlueZService {
    enum Change: Sendable {
        /// bluetoothd runs, and its objects have been read.
        case appeared
        /// bluetoothd or the bus is gone.
        case disappeared(LinkError)
        case object(BlueZObjects.Change)
    }

    nonisolated let executor: QueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var objects = BlueZObjects()
    private(set) var isPresent = false
    private(set) var connection: DBusConnection?

    private let bus: DBusConnection.Bus
    private var opening: Task<Void, any Error>?
    private var onChange: (@Sendable (Change) -> Void)?
    /// The number of object queries; the reply to an older query is ignored.
    private var generation = 0

    /// The time limit of GetManagedObjects.
    static let limit = Duration.seconds(15)

    init(bus: DBusConnection.Bus, executor: QueueExecutor) {
        self.bus = bus
        self.executor = executor
    }

    /// Sets the handler of changes, which runs on the queue.
    func onChange(_ handler: @escaping @Sendable (Change) -> Void) {
        onChange = handler
    }

    /// Connects to the bus if needed and reads bluetoothd's objects. Throws if that is impossible now. While the bus is
    /// connected, a later start of bluetoothd is reported as `appeared`.
    func start() async throws(LinkError) {
        do {
            if connection == nil {
                let opening = opening ?? Task { try await self.open() }
                self.opening = opening
                defer { self.opening = nil }
                try await opening.value
            }
            // bluetoothd was running, but did not reply when it appeared on the bus.
            if !isPresent, try await connection?.watchOwner(of: BlueZName.service) != nil { try await readObjects() }
        } catch let failure as DBusFailure {
            throw BlueZErrors.error(failure, "Cannot reach bluetoothd")
        } catch {
            throw LinkError(.serviceLost, "Cannot reach the system bus", cause: "\(error)", isTransient: true)
        }
        guard isPresent else { throw Self.notRunning }
    }

    static let notRunning = LinkError(.serviceLost, "bluetoothd is not running", isTransient: true)

    private func open() async throws {
        let connection = try await DBusConnection.open(bus, on: executor)
        self.connection = connection
        await connection.whenClosed { [weak self] in self?.assumeIsolated { $0.connectionClosed(connection) } }
        do {
            for match in [
                DBusMatch(sender: BlueZName.service, path: "/", interface: BlueZName.objectManager),
                DBusMatch(sender: BlueZName.service, interface: BlueZName.properties),
            ] {
                try await connection.subscribe(match) { [weak self] signal in
                    self?.assumeIsolated { $0.receive(signal) }
                }
            }
            try await connection.watchName(BlueZName.service) { [weak self] owner in
                self?.assumeIsolated { $0.ownerChanged(isRunning: owner != nil) }
            }
            if try await connection.watchOwner(of: BlueZName.service) != nil { try await readObjects() }
        } catch {
            self.connection = nil
            await connection.close()
            throw error
        }
    }

    /// Reads all objects again, because the order of signals is not reliable here.
    func refresh() async {
        try? await readObjects()
    }

    private func readObjects() async throws(DBusFailure) {
        guard let connection else { return }
        generation += 1
        let currentGeneration = generation
        let result: Result<[DBusValue], DBusFailure> = await withCheckedContinuation { continuation in
            let call = DBusCall(BlueZName.service, "/", BlueZName.objectManager, "GetManagedObjects")
            // The queue keeps the order of this reply and the signals around it.
            let completion: @Sendable (Result<[DBusValue], DBusFailure>) -> Void = { [weak self] result in
                if let self, case .success(let values) = result {
                    self.assumeIsolated { $0.store(values, generation: currentGeneration) }
                }
                continuation.resume(returning: result)
            }
            connection.assumeIsolated { $0.call(call, limit: Self.limit, completion: completion) }
        }
        _ = try result.get()
    }

    private func store(_ values: [DBusValue], generation: Int) {
        guard generation == self.generation, let objects = BlueZObjects(managedObjects: values.first) else { return }
        self.objects = objects
        guard !isPresent else { return }
        isPresent = true
        onChange?(.appeared)
    }

    private func receive(_ signal: DBusSignal) {
        guard let change = objects.apply(signal), isPresent else { return }
        onChange?(.object(change))
    }

    private func ownerChanged(isRunning: Bool) {
        generation += 1
        if isPresent { discardObjects("bluetoothd has stopped") }
        guard isRunning else { return }
        Task { try await self.readObjects() }
    }

    private func discardObjects(_ reason: String) {
        isPresent = false
        objects = BlueZObjects()
        onChange?(.disappeared(LinkError(.serviceLost, reason, isTransient: true)))
    }

    private func connectionClosed(_ closed: DBusConnection) {
        guard connection === closed else { return }
        connection = nil
        generation += 1
        discardObjects("the system bus connection is closed")
    }

    /// Calls a method of bluetoothd. `action` is the first half of an error message.
    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = [], limit: Duration,
        _ action: String
    ) async throws(LinkError) -> [DBusValue] {
        guard let connection else {
            throw LinkError(.serviceLost, "\(action): no connection to the system bus", isTransient: true)
        }
        do throws(DBusFailure) {
            return try await connection.call(
                DBusCall(BlueZName.service, path, interface, member, arguments), limit: limit)
        } catch {
            throw BlueZErrors.error(error, action)
        }
    }

    /// Ends a device's connection or a pending attempt. Ignores errors.
    func disconnect(_ device: String, limit: Duration = .seconds(5)) async {
        _ = try? await call(device, BlueZName.device, "Disconnect", limit: limit, "Disconnecting failed")
    }

    func setProperty(
        _ path: String, _ interface: String, _ name: String, _ value: DBusValue, limit: Duration, _ action: String
    ) async throws(LinkError) {
        _ = try await call(
            path, BlueZName.properties, "Set", [.string(interface), .string(name), .variant(value)], limit: limit,
            action)
    }

    /// Closes the bus connection. No change is reported after that.
    func close() async {
        onChange = nil
        opening?.cancel()
        await connection?.close()
        connection = nil
        isPresent = false
    }

    // MARK: - Adapters

    /// The powered adapter; otherwise throws an error with the action to take.
    func poweredAdapter(named name: String?) throws(LinkError) -> String {
        guard isPresent else { throw Self.notRunning }
        guard let path = objects.adapter(named: name) else {
            let existing = objects.paths(having: BlueZName.adapter).map(BlueZName.lastElement)
            let problem = name.map { "Unknown adapter \($0)" } ?? "No Bluetooth adapter"
            let others = existing.isEmpty ? "" : " (available: \(existing.joined(separator: ", ")))"
            throw LinkError(
                .noAdapter, "\(problem)\(others): plug one in, or use a link without hardware such as unix:PATH",
                isTransient: true)
        }
        guard objects[path, BlueZName.adapter]?["Powered"]?.bool == true else {
            throw LinkError(
                .poweredOff, "The adapter \(BlueZName.lastElement(of: path)) is switched off", isTransient: true)
        }
        return path
    }
}
