import BlueZ
import Bluetooth
import Glibc

/// The benchmark of notifications in the test VM (`hardware/machine/suite/benchmarks.py`). A peripheral notifies at the
/// maximum rate of its link; a central counts the notifications.
enum NotificationBenchmark {
    static let service: BluetoothUUID = 0xFFE0
    static let characteristic: BluetoothUUID = 0xFFE4
    static let name = "WaterH-Flood"
    /// A full log notification has 110 bytes (protocol spec P3). The first four of each are its number, big-endian.
    static let size = 110
    /// The number of values queued in the link, enough to use its maximum rate.
    private static let window = 16

    struct Failure: Error, CustomStringConvertible {
        var description: String
        init(_ description: String) { self.description = description }
    }

    // MARK: - Peripheral

    /// Notifies subscribers until the process is killed.
    static func flood(_ text: String) async throws {
        let link: any PeripheralLink =
            switch try LinkName(text) {
            case .bluez(let adapter): BlueZPeripheralLink(adapter: adapter)
            case .l2cap(let adapter): ATTPeripheralLink(try L2CAPListener(adapter))
            case let other: throw Failure("invalid link \(other): expected bluez or l2cap")
            }
        let source = LocalCharacteristic(uuid: characteristic, properties: [.notify])
        try await link.open(
            GATTApplication(name: name, services: [LocalService(uuid: service, characteristics: [source])]))
        print("ready")
        fflush(nil)
        var number: UInt32 = 0
        var isSubscribed = false
        func send() {
            link.perform(.notify(characteristic, value: bytes(of: number) + [UInt8](repeating: 0x5A, count: size - 4)))
            number &+= 1
        }
        for await event in link.events {
            switch event {
            case .subscribed:
                guard !isSubscribed else { continue }
                (isSubscribed, number) = (true, 0)
                for _ in 0..<window { send() }
            case .unsubscribed, .disconnected: isSubscribed = false
            case .notified: if isSubscribed { send() }
            default: break
            }
        }
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    // MARK: - Central

    /// Connects to the peripheral and counts values for the given number of seconds after the first one. Prints JSON.
    static func notifications(adapter: String, method: NotificationMethod, seconds: Double) async throws
        -> String
    {
        let link = BlueZCentralLink(adapter: adapter, notifications: method)
        let clock = ContinuousClock()
        let limit = Task {
            try await Task.sleep(for: .seconds(60 + seconds))
            await link.close()
        }
        defer { limit.cancel() }
        var counter = Counter()
        link.perform(.startScan)
        events: for await event in link.events {
            switch event {
            case .advertised(let advertisement) where advertisement.name == name:
                link.perform(.stopScan)
                link.perform(.connect(advertisement.peer, limit: .seconds(20)))
            case .connected: link.perform(.discover)
            case .discovered(let services):
                guard
                    let handle = services.flatMap(\.characteristics).first(where: { $0.uuid == characteristic })?.handle
                else {
                    throw Failure("the peripheral has no characteristic FFE4")
                }
                link.perform(.subscribe(handle: handle))
            case .notification(_, let value):
                if counter.add(value, at: clock.now, seconds: seconds) { break events }
            case .scanFailed(let error), .connectFailed(let error), .discoveryFailed(let error),
                .subscribeFailed(_, let error), .unavailable(let error):
                throw error
            case .disconnected(let error): throw Failure("disconnected: \(error?.description ?? "by us")")
            default: break
            }
        }
        await link.close()
        guard counter.isDone else { throw Failure("notifications stopped before \(seconds) s") }
        return counter.json
    }

    private struct Counter {
        private var began: ContinuousClock.Instant?
        private var elapsed = Duration.zero
        private var count = 0
        private var first: UInt32 = 0
        private var last: UInt32 = 0
        private(set) var isDone = false

        mutating func add(_ value: [UInt8], at now: ContinuousClock.Instant, seconds: Double) -> Bool {
            let number = value.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let began else {
                (self.began, first, last) = (now, number, number)
                return false
            }
            count += 1
            last = number
            elapsed = now - began
            isDone = elapsed >= .seconds(seconds)
            return isDone
        }

        var json: String {
            let time = elapsed / .seconds(1)
            return
                #"""
                {"count":\#(count),"seconds":\#(time),"rate":\#(Double(count) / time),\#
                "lost":\#(Int(last &- first) - count)}
                """#
        }
    }
}
