import DBus
import TrackerCore

/// The D-Bus object of the tracker for launchers, docks and scripts: four actions and the state (tracker spec E9).
/// Several processes queue for the bus name. A service with an instance name also owns a second bus name.
package actor SessionObject {
    /// The bus name. An instance also has it with an element for the instance name.
    package static let name = "org.waterh.Tracker"
    package static let path = "/org/waterh/Tracker"
    static let errors = "org.waterh.Error."

    /// The actions of the object. Each returns the new state as JSON.
    package struct Intents: Sendable {
        /// Logs a drink; `nil` logs the default drink.
        package var logDrink: @Sendable (_ preset: String?) async throws -> String
        package var logWater: @Sendable () async throws -> String
        package var startSession: @Sendable () async throws -> String
        package var endSession: @Sendable () async throws -> String
        package var state: @Sendable () async throws -> String

        package init(
            logDrink: @escaping @Sendable (_ preset: String?) async throws -> String,
            logWater: @escaping @Sendable () async throws -> String,
            startSession: @escaping @Sendable () async throws -> String,
            endSession: @escaping @Sendable () async throws -> String,
            state: @escaping @Sendable () async throws -> String
        ) {
            (self.logDrink, self.logWater, self.startSession) = (logDrink, logWater, startSession)
            (self.endSession, self.state) = (endSession, state)
        }
    }

    private static let pause = Duration.seconds(60)
    /// The maximum length of an error message in characters, because it can contain the input.
    private static let longestSentence = 500
    private let bus: @Sendable () -> DBusConnection.Bus?
    private let intents: Intents
    private let instance: String?

    /// - Parameter instance: the service's instance name; `nil` for none.
    package init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() },
        instance: String? = nil, intents: Intents
    ) {
        (self.bus, self.instance, self.intents) = (bus, instance, intents)
    }

    package static func name(ofInstance instance: String) -> String { "\(name).\(PlainName.of(instance))" }

    /// Runs until its task is cancelled. Without a session bus, retries at intervals.
    package func run() async {
        while !Task.isCancelled {
            if let bus = bus(),
                let connection = try? await DBusConnection.open(bus, on: QueueExecutor("session object"))
            {
                await connection.export(Self.path, [Self.interface(intents, connection)])
                if await takeNames(connection) { await Self.end(of: connection) }
                await connection.close()
                if !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            } else {
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Queues for both names if another process has them.
    private func takeNames(_ connection: DBusConnection) async -> Bool {
        do {
            if let instance { _ = try await connection.requestName(Self.name(ofInstance: instance), waits: true) }
            _ = try await connection.requestName(Self.name, waits: true)
            return true
        } catch {
            return false
        }
    }

    /// Waits until the bus disconnects or the task is cancelled.
    private static func end(of connection: DBusConnection) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Task { await connection.whenClosed { continuation.resume() } }
            }
        } onCancel: {
            Task { await connection.close() }
        }
    }

    private static func interface(_ intents: Intents, _ connection: DBusConnection) -> DBusInterface {
        let state = [DBusArgument("state", "s")]
        func method(
            _ name: String, input: [DBusArgument] = [], _ act: @escaping @Sendable ([DBusValue]) async throws -> String
        ) -> DBusMethod {
            DBusMethod(name, input: input, output: state) { [weak connection] call in
                Task {
                    let answer: Result<[DBusValue], DBusFailure>
                    do { answer = .success([.string(try await act(call.arguments))]) } catch {
                        answer = .failure(failure(error))
                    }
                    await connection?.answer(call.token, answer)
                }
                return .later
            }
        }
        return DBusInterface(
            name,
            methods: [
                method("LogDrink", input: [DBusArgument("preset", "s")]) {
                    try await intents.logDrink($0[0].text.flatMap { $0.isEmpty ? nil : $0 })
                },
                method("LogWater") { _ in try await intents.logWater() },
                method("StartSession") { _ in try await intents.startSession() },
                method("EndSession") { _ in try await intents.endSession() },
                method("GetState") { _ in try await intents.state() },
            ])
    }

    /// A D-Bus error with the problem's code as its name.
    private static func failure(_ error: any Error) -> DBusFailure {
        guard let problem = error as? any Problem else { return DBusFailure(DBusFailure.failed, cut("\(error)")) }
        return DBusFailure(errors + problem.code, cut(problem.sentence))
    }

    private static func cut(_ sentence: String) -> String {
        sentence.count > longestSentence ? sentence.prefix(longestSentence) + "…" : sentence
    }
}
