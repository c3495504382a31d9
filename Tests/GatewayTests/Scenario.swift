import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import TrackerCore

/// 2026-02-02T22:30:00Z, eight minutes after the verified sample.
let evening = Instant(seconds: 1_770_071_400)

func options(_ change: (inout PollOptions) -> Void = { _ in }) -> PollOptions {
    var options = PollOptions(zone: .utc)
    options.isClockSynchronised = true
    change(&options)
    return options
}

/// The serial number of `ScriptedBottle`: the address of the bottle.
let ownAddress = "A4:C1:38:01:02:03"

/// The advertisement of a bottle.
func advertisement(_ address: String = ownAddress, name: String = "WaterH-Boost-24oz", rssi: Int? = nil)
    -> Advertisement
{
    Advertisement(peer: PeerID(address), address: BluetoothAddress(address), name: name, rssi: rssi)
}

/// The verified one-record sample (protocol spec P3).
let sampleRecord: [UInt8] = [0x1A, 0x02, 0x02, 0x16, 0x15, 0x0F, 0x00, 0x10, 0x00, 0x00, 0x01, 0x61, 0x00]

/// Drinks of the evening, one per minute, oldest first.
func drinks(_ count: Int) -> [[UInt8]] {
    (0..<count).map { record(minute: $0 % 60, second: $0 / 240 % 60, amount: 20 + $0 % 200, hour: 18 + $0 / 60 % 4) }
}

/// Payload of a Boost's snapshot with the published offsets: battery 87 %, the given clock, charging.
func boostSnapshot(clock: [UInt8] = [0x1A, 2, 2, 22, 30, 0], goal: Int = 2000, amount: Int = 0) -> [UInt8] {
    let entries: [[UInt8]] = [
        [2, 2, 87], [7, 3] + clock, [3, 5, UInt8(goal >> 8), UInt8(goal & 0xFF)],
        [3, 4, UInt8(amount >> 8), UInt8(amount & 0xFF)], [3, 0x40, 1, 7], [1, 0x41], [2, 0x17, 1],
        [7, 0x26, 0, 8, 0, 20, 0, 60], [2, 0x1B, 1],
    ]
    return Array(entries.joined())
}

/// A bottle on a link that changes its answers.
struct ChangedBottle: ScriptedPeer {
    var bottle: ScriptedBottle
    /// `nil`: the bottle answers.
    let answer: (inout ScriptedBottle, CentralRequest, MonotonicInstant) -> DelayedEvents?

    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
        answer(&bottle, request, now) ?? bottle.handle(request, at: now)
    }
}

/// Devices in range of one adapter: all advertise, and each answers on its own connection.
struct DevicesInRange: ScriptedPeer {
    var devices: [ScriptedBottle]
    var connected: Int?

    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
        switch request {
        case .startScan: return devices.map { (.milliseconds(1), .advertised($0.advertisement)) }
        case .connect(let peer, _): connected = devices.firstIndex { $0.advertisement.peer == peer }
        default: break
        }
        guard let connected else { return [] }
        return devices[connected].handle(request, at: now)
    }
}

/// Polls a peer until the poll ends. `change` prepares the rig.
@discardableResult
func polled<Peer: ScriptedPeer>(
    _ peer: Peer, options plan: PollOptions = options(), journal: MemoryJournal = MemoryJournal(),
    start: Instant = evening, hasRadio: Bool = false, held: Poll? = nil,
    _ change: (inout EngineRig<Peer>) -> Void = { _ in }
) throws -> (rig: EngineRig<Peer>, report: PollReport) {
    var rig = EngineRig(options: plan, peer: peer, journal: journal, start: start, hasRadio: hasRadio, held: held)
    change(&rig)
    let report = try rig.run()
    return (rig, report)
}

extension EngineRig {
    /// The decoded writes to the bottle, in order.
    var written: [HostCommand] {
        requests.compactMap { if case .write(_, let value, _) = $0 { HostCommand(decoding: value) } else { nil } }
    }

    /// The number of records in each acknowledgement.
    var acknowledgements: [Int] {
        written.compactMap { if case .acknowledge(let bytes) = $0 { Int(bytes) / DrinkRecord.size } else { nil } }
    }
}
