import BottleProtocol
import Bluetooth
import Emulator

func hex(_ text: String) -> [UInt8] {
    text.split(separator: " ").compactMap { UInt8($0, radix: 16) }
}

/// A bottle without a link: events by hand, effects collected, every notification confirmed at once.
struct Bench {
    var machine: VirtualBottleMachine
    var now = MonotonicInstant(nanoseconds: 0)
    /// The effects since the last check.
    var effects: [PeripheralMachineEffect] = []
    /// Values notified by the response characteristic since the last check.
    var notified: [[UInt8]] = []
    /// Whether the link confirms values as sent.
    var takesNotifications = true
    /// The last saved flash, which a restart loads.
    var saved: BottleFlash
    private var token: UInt64 = 0
    private var lastReply: ControlReply?

    static let central = CentralID("central 1")
    static let newYear = LocalTime(BottleClock(yearByte: 27, month: 1, day: 1, hour: 0, minute: 0, second: 1))!
    static let noon = LocalTime(BottleClock(yearByte: 26, month: 11, day: 21, hour: 12, minute: 0, second: 0))!

    init(
        _ identity: BottleIdentity = BottleIdentity(), flash: BottleFlash = BottleFlash(), faults: String = "",
        seed: UInt64 = 1, responses: RecordedResponses = RecordedResponses(), hostTime: LocalTime = noon
    ) throws {
        saved = flash
        profile = identity.profile == .draft ? .draft : .retail
        machine = VirtualBottleMachine(
            identity, flash: flash, faults: try BottleFaults(faults), seed: seed, responses: responses,
            hostTime: hostTime, at: now)
    }

    /// The central's profile: retail where the bottle supports it.
    var profile: BottleProfile

    mutating func handle(_ event: PeripheralMachineEvent) {
        var pending = [event]
        while !pending.isEmpty {
            for effect in machine.handle(pending.removeFirst(), at: now) {
                effects.append(effect)
                switch effect {
                case .save(let flash): saved = flash
                case .reply(let reply): lastReply = reply
                case .link(.notify(let uuid, let value)):
                    if uuid == BluetoothUUID(profile.responseCharacteristic) { notified.append(value) }
                    if takesNotifications { pending.append(.link(.notified(uuid))) }
                case .link(.disconnect(let central)): pending.append(.link(.disconnected(central)))
                case .link, .log, .unrecorded: break
                }
            }
        }
    }

    mutating func link(_ event: PeripheralEvent) { handle(.link(event)) }

    mutating func connect(subscribe: Bool = true) {
        link(.connected(Self.central))
        link(.mtuChanged(Self.central, 517))
        if subscribe { link(.subscribed(Self.central, BluetoothUUID(profile.responseCharacteristic))) }
    }

    /// The bench after these drinks and the connection.
    func connected(sips: [Int] = [], subscribe: Bool = true) -> Bench {
        var bench = self
        bench.sip(sips)
        bench.connect(subscribe: subscribe)
        return bench
    }

    mutating func disconnect() { link(.disconnected(Self.central)) }

    /// Writes a command and returns the notified values.
    @discardableResult
    mutating func write(_ command: HostCommand) -> [[UInt8]] { write(command.encoded) }

    @discardableResult
    mutating func write(_ bytes: [UInt8], to uuid: UInt16? = nil, withResponse: Bool = false) -> [[UInt8]] {
        notified = []
        token += 1
        link(
            .write(
                Self.central, BluetoothUUID(uuid ?? profile.commandCharacteristic), value: bytes,
                token: withResponse ? token : nil))
        return notified
    }

    mutating func read(offset: Int = 0) -> PeripheralRequest.Response? {
        token += 1
        link(.read(Self.central, BluetoothUUID(profile.responseCharacteristic), offset: offset, token: token))
        for case .link(.respond(token, let response)) in effects { return response }
        return nil
    }

    @discardableResult
    mutating func control(_ action: ControlAction) -> ControlReply? {
        lastReply = nil
        handle(.control(action))
        return lastReply
    }

    var status: BottleStatus { machine.status(at: now) }

    /// Advances the time, deadline by deadline.
    mutating func wait(_ duration: Duration) {
        let end = now.advanced(by: duration)
        while let next = machine.nextDeadline, next <= end {
            now = max(now, next)
            handle(.tick)
        }
        now = end
        handle(.tick)
    }

    /// Drinks a minute apart.
    mutating func sip(_ amounts: [Int]) {
        for amount in amounts {
            control(.sip(ml: amount))
            wait(.seconds(60))
        }
    }

    /// A whole poll: the log and, if it is complete, its acknowledgement.
    mutating func poll(acknowledge: Bool = true) -> [DrinkRecord] {
        transfers(write(.drinkLog)).flatMap { transfer in
            if acknowledge { write(.acknowledge(bytes: UInt16(transfer.recordBytes.count))) }
            return transfer.records()
        }
    }
}

/// The logs in notified values.
func transfers(_ values: [[UInt8]]) -> [LogTransfer] {
    var assembler = LogAssembler()
    return values.flatMap { assembler.receive($0) }.compactMap { if case .log(let log) = $0 { log } else { nil } }
}

/// Decodes records as the original app does (tracker spec A1): 13 bytes each from offset 6, in the strict dialect.
func originalAppRecords(_ packet: [UInt8]) -> [DrinkRecord] {
    guard packet.starts(with: Array("PT".utf8)) else { return [] }
    return DrinkRecord.all(in: Array(packet.dropFirst(6)), dialect: .strict)
}
