import Foundation

/// Notifies systemd through `NOTIFY_SOCKET` (sd_notify(3)). Without the variable it does nothing.
package struct SystemdNotifier: Sendable {
    /// The path or abstract name of systemd's socket; `nil` without one.
    private let socketPath: String?
    /// The watchdog interval in microseconds; `nil` without a watchdog.
    private let watchdog: Int?

    /// - Parameter environment: `NOTIFY_SOCKET` (a path, or an abstract name after `@`), `WATCHDOG_USEC`,
    /// `WATCHDOG_PID`.
    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        watchdog = isForThisProcess ? environment["WATCHDOG_USEC"].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil } : nil
    }

    package func notify(_ message: String) {
        guard let socketPath else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract name starts with a zero byte, which systemd writes as @.
        var name = Array(socketPath.utf8)
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (name.first == 0 ? 0 : 1))
        let bytes = Array(message.utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }

    package func notify(status: String) {
        notify("STATUS=" + String(String.UnicodeScalarView(status.unicodeScalars.map { $0.value < 0x20 ? " " : $0 })))
    }

    /// Sends watchdog notifications at a third of the interval until cancelled, while `isAlive` returns `true`. systemd
    /// restarts the service if they stop.
    package func keepAlive(while isAlive: @Sendable () async -> Bool) async {
        guard let watchdog, socketPath != nil else { return }
        repeat {
            if await isAlive() { notify("WATCHDOG=1") }
        } while (try? await Task.sleep(for: .microseconds(min(max(1000, watchdog / 3), 3_600_000_000)))) != nil
    }
}
