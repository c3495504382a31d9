import CDBus
import Dispatch

extension DBusConnection {
    struct PendingCall {
        var pending: OpaquePointer
        var completion: @Sendable (Result<[DBusValue], DBusFailure>) -> Void
    }

    /// Calls a method and waits at most `limit` for its reply. Cancelling the task cancels the call.
    package func call(_ call: DBusCall, limit: Duration = .seconds(25)) async throws(DBusFailure) -> [DBusValue] {
        let number = nextNumber()
        let result: Result<[DBusValue], DBusFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(call, number: number, limit: limit) { continuation.resume(returning: $0) }
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            executor.queue.async { self.assumeIsolated { $0.cancel(number) } }
        }
        return try result.get()
    }

    /// Calls a method. `completion` runs on the queue, in order with the signals around the reply.
    package func call(
        _ call: DBusCall, limit: Duration = .seconds(25),
        completion: @escaping @Sendable (Result<[DBusValue], DBusFailure>) -> Void
    ) {
        begin(call, number: nextNumber(), limit: limit, completion: completion)
    }

    private func begin(
        _ call: DBusCall, number: UInt64, limit: Duration,
        completion: @escaping @Sendable (Result<[DBusValue], DBusFailure>) -> Void
    ) {
        let message: OwnedMessage
        do throws(DBusFailure) {
            guard isOpen else { throw DBusFailure(DBusFailure.disconnected, "the bus connection is closed") }
            message = try OwnedMessage(call)
        } catch {
            return completion(.failure(error))
        }
        var pending: OpaquePointer?
        let milliseconds = Int32(clamping: Int64((limit / .milliseconds(1)).rounded(.up)))
        guard dbus_connection_send_with_reply(connection, message.pointer, &pending, max(1, milliseconds)) != 0,
            let pending
        else {
            return completion(.failure(DBusFailure(DBusFailure.disconnected, "the bus connection is closed")))
        }
        calls[number] = PendingCall(pending: pending, completion: completion)
        let owner = Unmanaged.passRetained(CallOwner(connection: self, number: number)).toOpaque()
        dbus_pending_call_set_notify(
            pending,
            { _, data in
                guard let data else { return }
                let owner = Unmanaged<CallOwner>.fromOpaque(data).takeUnretainedValue()
                let number = owner.number
                owner.connection.assumeIsolated { $0.finished(number) }
            }, owner, { data in data.map { Unmanaged<CallOwner>.fromOpaque($0).release() } })
    }

    private func finished(_ number: UInt64) {
        guard let call = calls.removeValue(forKey: number) else { return }
        defer { dbus_pending_call_unref(call.pending) }
        guard let reply = dbus_pending_call_steal_reply(call.pending) else {
            return call.completion(.failure(DBusFailure(DBusFailure.noReply, "no reply")))
        }
        call.completion(OwnedMessage(reply).result)
    }

    private func cancel(_ number: UInt64) {
        guard let call = calls.removeValue(forKey: number) else { return }
        dbus_pending_call_cancel(call.pending)
        dbus_pending_call_unref(call.pending)
        call.completion(.failure(DBusFailure(DBusFailure.noReply, "the call was cancelled")))
    }

    func failPendingCalls(_ failure: DBusFailure) {
        let failed = calls.values
        calls = [:]
        for call in failed {
            dbus_pending_call_cancel(call.pending)
            dbus_pending_call_unref(call.pending)
            call.completion(.failure(failure))
        }
    }
}

/// The context that libdbus keeps for a pending call.
private final class CallOwner: Sendable {
    let connection: DBusConnection
    let number: UInt64
    init(connection: DBusConnection, number: UInt64) {
        self.connection = connection
        self.number = number
    }
}
