package import DBus
import TrackerCore

/// The tracker's D-Bus object for launchers, docks and scripts, with four actions and the state (tracker spec E9). If
/// several processes offer it, they queue for the bus name. A service with an instance name also owns a second name.
package actor TrackerObject {
    /// The bus name. The second name of an instance is this one with the instance name appended.
    package static let name = "org.waterh.Tracker"
    package static let path = "/org/waterh/Tracker"
    static let errorPrefix = "org.waterh.Error."

    package enum Action: Hashable, Sendable {
        /// Logs a drink; `nil` logs the default drink.
        case logDrink(preset: String?)
        case logWater, startSession, endSession, getState
    }

    private static let pause = Duration.seconds(60)
    /// The maximum length of an error message in characters, because it can contain the input.
    private static let maximumErrorLength = 500
    private let bus: @Sendable () -> DBusConnection.Bus?
    private let act: @Sendable (Action) async throws -> String
    private let instance: String?

    /// - Parameters:
    ///   - instance: the service's instance name; `nil` for none.
    ///   - act: performs an action, and returns the new state as JSON.
    package init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() },
        instance: String? = nil, act: @escaping @Sendable (Action) async throws -> String
    ) {
        (self.bus, self.instance, self.act) = (bus, instance, act)
    }

    package static func name(ofInstance instance: String) -> String { "\(name).\(PlainName.of(instance))" }

    /// Runs until its task is cancelled. Without a session bus, retries at intervals.
    package func run() async {
        while !Task.isCancelled {
            if let bus = bus(),
                let connection = try? await DBusConnection.open(bus, on: QueueExecutor("session object"))
            {
                await connection.export(Self.path, [Self.interface(connection, act)])
                if await requestNames(connection) { await Self.waitForEnd(of: connection) }
                await connection.close()
                if !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            } else {
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Queues for both names if another process has them.
    private func requestNames(_ connection: DBusConnection) async -> Bool {
        do {
            if let instance { _ = try await connection.requestName(Self.name(ofInstance: instance), waits: true) }
            _ = try await connection.requestName(Self.name, waits: true)
            return true
        } catch {
            return false
        }
    }

    /// Waits until the bus disconnects or the task is cancelled.
    private static func waitForEnd(of connection: DBusConnection) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Task { await connection.whenClosed { continuation.resume() } }
            }
        } onCancel: {
            Task { await connection.close() }
        }
    }

    private static func interface(
        _ connection: DBusConnection, _ act: @escaping @Sendable (Action) async throws -> String
    ) -> DBusInterface {
        func method(
            _ name: String, input: [DBusArgument] = [], _ action: @escaping @Sendable ([DBusValue]) -> Action
        ) -> DBusMethod {
            DBusMethod(name, input: input, output: [DBusArgument("state", "s")]) { [weak connection] call in
                Task {
                    let answer: Result<[DBusValue], DBusFailure>
                    do { answer = .success([.string(try await act(action(call.arguments)))]) } catch {
                        answer = .failure(failure(error))
                    }
                    await connection?.answer(call.token, answer)
                }
                return .deferred
            }
        }
        return DBusInterface(
            name,
            methods: [
                method("LogDrink", input: [DBusArgument("preset", "s")]) {
                    .logDrink(preset: $0[0].text.flatMap { $0.isEmpty ? nil : $0 })
                },
                method("LogWater") { _ in .logWater }, method("StartSession") { _ in .startSession },
                method("EndSession") { _ in .endSession }, method("GetState") { _ in .getState },
            ])
    }

    /// A D-Bus error with the problem's code as its name.
    private static func failure(_ error: any Error) -> DBusFailure {
        guard let problem = error as? any Problem else { return DBusFailure(DBusFailure.failed, truncated("\(error)")) }
        return DBusFailure(errorPrefix + problem.code, truncated(problem.sentence))
    }

    private static func truncated(_ sentence: String) -> String {
        sentence.count > maximumErrorLength ? sentence.prefix(maximumErrorLength) + "…" : sentence
    }
}
