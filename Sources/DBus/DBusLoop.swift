import CDBus
import Utilities
import Dispatch
import Glibc

/// Runs libdbus' watches on a dispatch queue, without polling or blocking a thread.
///
/// libdbus requests watches through the functions installed here, and the event sources call it back. It needs no
/// timers, because the connection ends late calls. Everything happens on the connection's queue, hence
/// `@unchecked Sendable`.
final class DBusLoop: @unchecked Sendable {
    private let connection: OpaquePointer
    private let queue: DispatchQueue
    private var watches: [UInt: (source: DescriptorSource, interest: DescriptorSource.Interest)] = [:]
    private var isDispatching = false
    private var isStopped = false

    init(connection: OpaquePointer, queue: DispatchQueue) {
        self.connection = connection
        self.queue = queue
    }

    /// Installs the functions in libdbus. This object must exist until `stop`.
    func start() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_watch_functions(
            connection,
            { watch, data in DBusLoop.of(data)?.add(watch: watch) == true ? 1 : 0 },
            { watch, data in DBusLoop.of(data)?.remove(watch: watch) },
            { watch, data in DBusLoop.of(data)?.toggle(watch: watch) }, context, nil)
        dbus_connection_set_dispatch_status_function(
            connection,
            { _, status, data in
                guard status == DBUS_DISPATCH_DATA_REMAINS, let loop = DBusLoop.of(data) else { return }
                // libdbus calls this function with its lock held, so dispatch later.
                loop.queue.async { loop.dispatch() }
            }, context, nil)
        dispatch()
    }

    /// Removes the functions. libdbus then removes its watches.
    func stop() {
        isStopped = true
        dbus_connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        dbus_connection_set_dispatch_status_function(connection, nil, nil, nil)
    }

    private static func of(_ data: UnsafeMutableRawPointer?) -> DBusLoop? {
        data.map { Unmanaged<DBusLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    private func dispatch() {
        guard !isStopped, !isDispatching else { return }
        isDispatching = true
        while !isStopped, dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS {}
        isDispatching = false
    }

    private func add(watch: OpaquePointer?) -> Bool {
        guard let watch, let descriptor = Self.duplicate(dbus_watch_get_unix_fd(watch)) else { return false }
        let key = UInt(bitPattern: watch)
        let flags = dbus_watch_get_flags(watch)
        let readable = flags & DBUS_WATCH_READABLE.rawValue != 0
        let ready = readable ? DBUS_WATCH_READABLE.rawValue : DBUS_WATCH_WRITABLE.rawValue
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in
            self?.isReady(key: key, flags: ready)
        }
        watches[key] = (source, readable ? .reading : .writing)
        toggle(watch: watch)
        return true
    }

    /// Duplicates a descriptor, because a source closes it later than libdbus does and two watches can share one.
    private static func duplicate(_ descriptor: Int32) -> Int32? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return copy >= 0 ? copy : nil
    }

    private func isReady(key: UInt, flags: UInt32) {
        // The watch might have been removed after the event was queued.
        guard watches[key]?.source.interest.isEmpty == false, let watch = OpaquePointer(bitPattern: key) else { return }
        _ = dbus_watch_handle(watch, flags)
        dispatch()
    }

    private func toggle(watch: OpaquePointer?) {
        guard let watch, let entry = watches[UInt(bitPattern: watch)] else { return }
        entry.source.interest = dbus_watch_get_enabled(watch) != 0 ? entry.interest : []
    }

    private func remove(watch: OpaquePointer?) {
        guard let watch, let entry = watches.removeValue(forKey: UInt(bitPattern: watch)) else { return }
        entry.source.cancel()
    }
}
