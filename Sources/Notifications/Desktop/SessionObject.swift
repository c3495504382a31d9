import DBus
import TrackerCore

/// The day on the session's bus, for launchers, docks and scripts: the four intents and the state (tracker law E9). Of
/// several programs that offer it one is asked; when that one goes, another takes its place. A service with an instance
/// name also has a bus name of its own.
package actor SessionObject {
    /// The bus name. An instance also has it with its own name as another element.
    package static let name = "org.waterh.Tracker"
    /// The object's path.
    package static let path = "/org/waterh/Tracker"
    static let errors = "org.waterh.Error."

    /// What is behind it. Each answers with JSON: the session's new state, or the day's.
    package struct Intents: Sendable {
        /// With a preset's name, or the usual drink.
        package var logDrink: @Sendable (_ preset: String?) async throws -> String
        /// Logs a glass of water in the session.
        package var logWater: @Sendable () async throws -> String
        /// Starts a session.
        package var startSession: @Sendable () async throws -> String
        /// Ends the session.
        package var endSession: @Sendable () async throws -> String
        /// Tells the day.
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
    /// A sentence may hold what was given, and that may be anything.
    private static let longestSentence = 500
    private let bus: @Sendable () -> DBusConnection.Bus?
    private let intents: Intents
    private let instance: String?

    /// - Parameter instance: the service's instance name; `nil` when it has none.
    package init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() },
        instance: String? = nil, intents: Intents
    ) {
        (self.bus, self.instance, self.intents) = (bus, instance, intents)
    }

    /// The bus name of an instance.
    package static func name(ofInstance instance: String) -> String { "\(name).\(PlainName.of(instance))" }

    /// Goes on until its task is cancelled. Where there is no session there is nothing to do.
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

    /// Queues for both names when another program has them.
    private func takeNames(_ connection: DBusConnection) async -> Bool {
        do {
            if let instance { _ = try await connection.requestName(Self.name(ofInstance: instance), waits: true) }
            _ = try await connection.requestName(Self.name, waits: true)
            return true
        } catch {
            return false
        }
    }

    /// Waits until the bus has gone, or nobody waits any more.
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

    /// A refusal by its code, as every surface names it.
    private static func failure(_ error: any Error) -> DBusFailure {
        guard let problem = error as? any Problem else { return DBusFailure(DBusFailure.failed, cut("\(error)")) }
        return DBusFailure(errors + problem.code, cut(problem.sentence))
    }

    private static func cut(_ sentence: String) -> String {
        sentence.count > longestSentence ? sentence.prefix(longestSentence) + "…" : sentence
    }
}
