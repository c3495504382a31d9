import CDBus
import Dispatch

extension DBusConnection {
    package typealias Completion = @Sendable (Result<[DBusValue], DBusFailure>) -> Void

    static let closed = DBusFailure(DBusFailure.disconnected, "the bus connection is closed")

    /// Calls a method and waits at most `limit` for its reply. Cancelling the task cancels the call.
    package func call(_ call: DBusCall, limit: Duration = .seconds(25)) async throws(DBusFailure) -> [DBusValue] {
        let serial = try send(call, limit: limit)
        let result: Result<[DBusValue], DBusFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                calls[serial] = { continuation.resume(returning: $0) }
            }
        } onCancel: {
            executor.queue.async {
                self.assumeIsolated { $0.end(serial, DBusFailure(DBusFailure.noReply, "the call was cancelled")) }
            }
        }
        return try result.get()
    }

    /// Calls a method. `completion` runs on the queue, in order with the signals around the reply.
    package func call(_ call: DBusCall, limit: Duration = .seconds(25), completion: @escaping Completion) {
        do throws(DBusFailure) {
            calls[try send(call, limit: limit)] = completion
        } catch {
            completion(.failure(error))
        }
    }

    /// Sends a call that fails after `limit`, and returns its serial number, which the reply repeats.
    private func send(_ call: DBusCall, limit: Duration) throws(DBusFailure) -> UInt32 {
        guard isOpen else { throw Self.closed }
        let message = try OwnedMessage(call)
        guard dbus_connection_send(connection, message.pointer, nil) != 0 else {
            throw DBusFailure(DBusFailure.failed, "out of memory for the message")
        }
        let serial = dbus_message_get_serial(message.pointer)
        let milliseconds = Int((limit / .milliseconds(1)).rounded(.up))
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
            self?.assumeIsolated { $0.end(serial, DBusFailure(DBusFailure.noReply, "no reply within \(limit)")) }
        }
        return serial
    }

    /// Handles a reply. A reply to a call that has ended is ignored.
    func finish(_ reply: OwnedMessage) {
        calls.removeValue(forKey: dbus_message_get_reply_serial(reply.pointer))?(reply.result)
    }

    /// Ends a pending call without its reply.
    func end(_ serial: UInt32, _ failure: DBusFailure) {
        calls.removeValue(forKey: serial)?(.failure(failure))
    }
}
