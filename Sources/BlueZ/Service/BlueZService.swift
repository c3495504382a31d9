import Bluetooth
import DBus
import Dispatch

/// bluetoothd as a link sees it: a connection to the bus, its objects, and whether it is there at all.
///
/// It shares its executor with the link that uses it, so the link sees each change at the moment and in the order in
/// which bluetoothd told it. Nothing starts before `start`.
actor BlueZService {
    enum Change: Sendable {
        /// bluetoothd is there and its objects are known.
        case appeared
        /// bluetoothd or the bus went away.
        case disappeared(LinkError)
        case object(BlueZObjects.Change)
    }

    nonisolated let executor: QueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var objects = BlueZObjects()
    /// Whether bluetoothd runs and its objects are known.
    private(set) var isPresent = false
    private(set) var connection: DBusConnection?

    private let bus: DBusConnection.Bus
    private var opening: Task<DBusConnection, any Error>?
    private var onChange: (@Sendable (Change) -> Void)?
    /// Counts the times that bluetoothd's objects were asked for: an answer to an older question does not count.
    private var generation = 0

    /// How long bluetoothd may take for its list of objects.
    static let limit = Duration.seconds(15)

    init(bus: DBusConnection.Bus, executor: QueueExecutor) {
        self.bus = bus
        self.executor = executor
    }

    /// Who is told of changes, on the queue.
    func onChange(_ handler: @escaping @Sendable (Change) -> Void) {
        onChange = handler
    }

    /// Connects to the bus, unless connected, and learns bluetoothd's objects. An error says why it is not to be had
    /// now; with the bus there, a bluetoothd that comes later is told as `appeared`.
    func start() async throws(LinkError) {
        do {
            if connection == nil {
                if opening == nil {
                    opening = Task { try await self.open() }
                }
                guard let opening else { return }
                defer { self.opening = nil }
                _ = try await opening.value
            }
            // There, and it did not answer when it came.
            if !isPresent, try await connection?.watchOwner(of: BlueZName.service) != nil { try await learnObjects() }
        } catch let failure as DBusFailure {
            throw BlueZErrors.error(failure, "bluetoothd could not be reached")
        } catch {
            throw LinkError(.serviceLost, "The system bus could not be reached", cause: "\(error)", isTransient: true)
        }
        guard isPresent else { throw Self.absent }
    }

    static let absent = LinkError(
        .serviceLost, "bluetoothd does not run", isTransient: true)

    private func open() async throws -> DBusConnection {
        let connection = try await DBusConnection.open(bus, on: executor)
        self.connection = connection
        await connection.whenClosed { [weak self] in
            guard let self else { return }
            self.assumeIsolated { $0.busIsGone(connection) }
        }
        do {
            for match in [
                DBusMatch(sender: BlueZName.service, path: "/", interface: BlueZName.objectManager),
                DBusMatch(sender: BlueZName.service, pathNamespace: "/org/bluez", interface: BlueZName.properties),
            ] {
                _ = try await connection.subscribe(match) { [weak self] signal in
                    guard let self else { return }
                    self.assumeIsolated { $0.follow(signal) }
                }
            }
            _ = try await connection.watchName(BlueZName.service) { [weak self] owner in
                guard let self else { return }
                self.assumeIsolated { $0.ownerChanged(isThere: owner != nil) }
            }
            if try await connection.watchOwner(of: BlueZName.service) != nil { try await learnObjects() }
            return connection
        } catch {
            self.connection = nil
            await connection.close()
            throw error
        }
    }

    /// Asks for all objects again, where the order of the signals is not to be relied upon.
    func refresh() async {
        try? await learnObjects()
    }

    private func learnObjects() async throws(DBusFailure) {
        guard let connection else { return }
        generation += 1
        let mine = generation
        let result: Result<[DBusValue], DBusFailure> = await withCheckedContinuation { continuation in
            connection.assumeIsolated {
                let call = DBusCall(BlueZName.service, "/", BlueZName.objectManager, "GetManagedObjects")
                // Taken over in order with the signals around it.
                $0.call(call, limit: Self.limit) { [weak self] result in
                    if let self, case .success(let values) = result {
                        self.assumeIsolated { $0.take(values, generation: mine) }
                    }
                    continuation.resume(returning: result)
                }
            }
        }
        _ = try result.get()
    }

    private func take(_ values: [DBusValue], generation: Int) {
        guard generation == self.generation, let objects = BlueZObjects(managedObjects: values.first) else { return }
        self.objects = objects
        guard !isPresent else { return }
        isPresent = true
        onChange?(.appeared)
    }

    private func follow(_ signal: DBusSignal) {
        guard let change = objects.follow(signal), isPresent else { return }
        onChange?(.object(change))
    }

    private func ownerChanged(isThere: Bool) {
        generation += 1
        if isPresent {
            isPresent = false
            objects = BlueZObjects()
            onChange?(.disappeared(LinkError(.serviceLost, "bluetoothd went away", isTransient: true)))
        }
        guard isThere else { return }
        Task { try await self.learnObjects() }
    }

    private func busIsGone(_ gone: DBusConnection) {
        guard connection === gone else { return }
        connection = nil
        generation += 1
        objects = BlueZObjects()
        isPresent = false
        onChange?(
            .disappeared(LinkError(.serviceLost, "the connection to the system bus has ended", isTransient: true)))
    }

    /// Calls a method of bluetoothd; `what` is the first half of the sentence that reports a failure.
    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = [], limit: Duration,
        _ what: String
    ) async throws(LinkError) -> [DBusValue] {
        guard let connection else {
            throw LinkError(.serviceLost, "\(what): there is no connection to the system bus", isTransient: true)
        }
        do throws(DBusFailure) {
            return try await connection.call(
                DBusCall(BlueZName.service, path, interface, member, arguments), limit: limit)
        } catch {
            throw BlueZErrors.error(error, what)
        }
    }

    func setProperty(
        _ path: String, _ interface: String, _ name: String, _ value: DBusValue, limit: Duration, _ what: String
    ) async throws(LinkError) {
        _ = try await call(
            path, BlueZName.properties, "Set", [.string(interface), .string(name), .variant(value)], limit: limit, what)
    }

    /// Ends the connection to the bus; nothing is told afterwards.
    func close() async {
        onChange = nil
        opening?.cancel()
        await connection?.close()
        connection = nil
        isPresent = false
    }

    // MARK: - Adapters

    /// The adapter meant, with power; an error says what is missing and what to do.
    func poweredAdapter(named name: String?) throws(LinkError) -> String {
        guard isPresent else { throw Self.absent }
        guard let path = objects.adapter(named: name) else {
            let there = objects.paths(having: BlueZName.adapter).compactMap {
                $0.split(separator: "/").last.map(String.init)
            }
            let which = name.map { "There is no adapter \($0)" } ?? "There is no Bluetooth adapter"
            let others = there.isEmpty ? "" : " (there is \(there.joined(separator: ", ")))"
            throw LinkError(
                .noAdapter, "\(which)\(others): plug one in, or use a link without hardware such as unix:PATH",
                isTransient: true)
        }
        guard objects[path, BlueZName.adapter]?["Powered"]?.bool == true else {
            let short = path.split(separator: "/").last.map(String.init) ?? path
            throw LinkError(
                .poweredOff, "The adapter \(short) is switched off", isTransient: true)
        }
        return path
    }
}
