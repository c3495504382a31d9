import BlueZ
import Bluetooth
import Glibc

/// The benchmark of notifications in the test VM (`hardware/machine/suite/benchmarks.py`). A peripheral notifies at the
/// maximum rate of its link; a central counts the notifications.
enum AirBenchmarks {
    static let service: BluetoothUUID = 0xFFE0
    static let characteristic: BluetoothUUID = 0xFFE4
    static let name = "WaterH-Flood"
    /// A full log notification has 110 bytes (protocol spec P3). The first four of each are its number, big-endian.
    static let size = 110
    /// The number of values queued in the link, enough to keep the radio busy.
    private static let window = 16

    struct Failure: Error, CustomStringConvertible {
        var description: String
        init(_ description: String) { self.description = description }
    }

    // MARK: - The flood

    /// Notifies subscribers until the process is killed.
    static func flood(_ text: String) async throws {
        let link: any PeripheralLink =
            switch try LinkName(text) {
            case .bluez(let adapter): BlueZPeripheralLink(adapter: adapter)
            case .l2cap(let adapter): ATTPeripheralLink(try L2CAPListener(adapter))
            case let other: throw Failure("\(other) is not on the air")
            }
        let source = LocalCharacteristic(uuid: characteristic, properties: [.notify])
        try await link.open(
            GATTApplication(name: name, services: [LocalService(uuid: service, characteristics: [source])]))
        print("ready")
        fflush(nil)
        var number: UInt32 = 0
        var isWanted = false
        func send() {
            link.perform(.notify(characteristic, value: bytes(of: number) + [UInt8](repeating: 0x5A, count: size - 4)))
            number &+= 1
        }
        for await event in link.events {
            switch event {
            case .subscribed:
                guard !isWanted else { continue }
                (isWanted, number) = (true, 0)
                for _ in 0..<window { send() }
            case .unsubscribed, .disconnected: isWanted = false
            case .notified: if isWanted { send() }
            default: break
            }
        }
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    // MARK: - Our central

    /// Connects to the peripheral and counts values for the given number of seconds after the first one. Prints JSON.
    static func notifications(adapter: String, way: NotificationWay, seconds: Double) async throws
        -> String
    {
        let link = BlueZCentralLink(adapter: adapter, notifications: way)
        let clock = ContinuousClock()
        let limit = Task {
            try await Task.sleep(for: .seconds(60 + seconds))
            await link.close()
        }
        defer { limit.cancel() }
        var counted = Counted()
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
                    throw Failure("the flood's characteristic was not found")
                }
                link.perform(.subscribe(handle: handle))
            case .notification(_, let value):
                if counted.take(value, at: clock.now, seconds: seconds) { break events }
            case .scanFailed(let error), .connectFailed(let error), .discoveryFailed(let error),
                .subscribeFailed(_, let error), .unavailable(let error):
                throw error
            case .disconnected(let error): throw Failure("disconnected: \(error?.description ?? "by us")")
            default: break
            }
        }
        await link.close()
        guard counted.isDone else { throw Failure("no \(seconds) s of values came") }
        return counted.json
    }

    private struct Counted {
        private var began: ContinuousClock.Instant?
        private var elapsed = Duration.zero
        private var count = 0
        private var first: UInt32 = 0
        private var last: UInt32 = 0
        private(set) var isDone = false

        mutating func take(_ value: [UInt8], at now: ContinuousClock.Instant, seconds: Double) -> Bool {
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
