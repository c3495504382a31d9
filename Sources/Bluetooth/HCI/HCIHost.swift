/// The host's side of HCI over any transport: one controller, LE only, ATT on its connections. A machine without I/O.
///
/// What a kernel and bluetoothd do for an adapter of this machine is done here for a controller behind a stream (Core
/// 5.4, Vol 4): reset, scan, advertise, connect, fragments and credits of ACL data, L2CAP's fixed channels.
package struct HCIHost: Sendable {
    /// What is told.
    package enum Input: Sendable {
        /// The transport to the controller is there: it is reset and asked who it is.
        case opened
        /// Bytes of the transport, cut anywhere.
        case received([UInt8])
        /// The transport has ended.
        case closed
        case scan(Bool)
        case advertise(AdvertisingBytes?)
        case connect(BluetoothAddress, isRandom: Bool)
        case cancelConnect
        case send(connection: UInt16, [UInt8])
        case disconnect(UInt16)
    }

    /// What is to be done, or has come about, in order.
    package enum Effect: Hashable, Sendable {
        case send([UInt8])
        /// The controller works; this is its address.
        case ready(BluetoothAddress)
        case advertised(Sighting)
        case connected(UInt16, BluetoothAddress, isCentral: Bool)
        case connectFailed(status: UInt8)
        case received(connection: UInt16, [UInt8])
        /// The controller does not take what this connection was sent; `drained` follows.
        case congested(UInt16)
        case drained(UInt16)
        case disconnected(UInt16, reason: UInt8)
        /// The controller refused a command.
        case refused(opcode: UInt16, status: UInt8)
        /// What came is no HCI: the transport is of no use any more.
        case broken(String)
    }

    /// One report of the controller.
    package struct Sighting: Hashable, Sendable {
        /// Who advertises.
        package var address: BluetoothAddress
        /// Whether that is a random address, and not a public one.
        package var isRandom: Bool
        /// dBm, where the controller knows it.
        package var rssi: Int?
        /// AD structures.
        package var data: [UInt8]
    }

    struct Connection {
        var assembly: [UInt8] = []
        /// Fragments that wait for room in the controller, and how many are in it.
        var waiting: [[UInt8]] = []
        var inFlight = 0
        var isCongested = false
        /// It was too slow, and is being ended.
        var isEnding = false
    }

    static let mostConnections = 32

    private var stream = H4Stream()
    private var commands: [(opcode: UInt16, parameters: [UInt8])] = []
    private var awaited: UInt16?
    /// How many commands the controller was sent.
    private(set) var commandsSent = 0
    var connections: [UInt16: Connection] = [:]
    private(set) var fragmentLength = 27
    private(set) var credits = 1
    var inFlight = 0
    var isOpen = false
    private var isReady = false
    private var usesRandomAddress = false
    private var address = BluetoothAddress(0)
    /// Used where the controller has no address of its own.
    private let fallback: BluetoothAddress

    /// - Parameter fallback: a static random address (Core 5.4, Vol 6 Part B, 1.3.2.1), for controllers that have none.
    package init(fallback: BluetoothAddress) { self.fallback = BluetoothAddress(fallback.value | 0xC000_0000_0000) }

    /// Whether a command is under way that the controller has not answered yet.
    package var isWaiting: Bool { awaited != nil }

    /// Takes one input.
    /// - Returns: what follows, in order.
    package mutating func handle(_ input: Input) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .opened:
            let (fallback, sent) = (fallback, commandsSent)
            self = HCIHost(fallback: fallback)
            commandsSent = sent
            isOpen = true
            for (opcode, parameters) in Self.beginning { command(opcode, parameters, &effects) }
        case .closed:
            for handle in connections.keys.sorted() { effects.append(.disconnected(handle, reason: 0x08)) }
            connections = [:]
            (isOpen, isReady, awaited, commands, inFlight) = (false, false, nil, [], 0)
        case .received(let bytes):
            guard isOpen else { return [] }
            stream.append(bytes)
            while isOpen {
                switch stream.next() {
                case .packet(let type, let packet): take(type, packet, &effects)
                case .broken(let type):
                    isOpen = false
                    effects.append(.broken("a packet of type \(type) came, which is no HCI"))
                case .incomplete: return effects
                }
            }
        case .scan(let isOn):
            // Active, 60 ms of each 60 ms, without duplicates dropped: what is known of a peer grows.
            if isOn { command(0x200B, [1, 0x60, 0, 0x60, 0, usesRandomAddress ? 1 : 0, 0], &effects) }
            command(0x200C, [isOn ? 1 : 0, 0], &effects)
        case .advertise(let data?):
            // 100 to 150 ms, connectable and scannable, on all channels.
            command(0x2006, [0xA0, 0, 0xF0, 0, 0, usesRandomAddress ? 1 : 0, 0, 0, 0, 0, 0, 0, 0, 7, 0], &effects)
            command(0x2008, Self.padded(data.data), &effects)
            command(0x2009, Self.padded(data.scanResponse), &effects)
            command(0x200A, [1], &effects)
        case .advertise(nil): command(0x200A, [0], &effects)
        case .connect(let peer, let isRandom):
            // Interval 30 to 50 ms, latency 0, supervision time-out 5 s.
            command(
                0x200D,
                [0x60, 0, 0x30, 0, 0, isRandom ? 1 : 0] + peer.littleEndian + [
                    usesRandomAddress ? 1 : 0, 24, 0, 40, 0, 0, 0, 0xF4, 1, 0, 0, 0, 0,
                ],
                &effects)
        case .cancelConnect: command(0x200E, [], &effects)
        case .send(let handle, let pdu): send(pdu, channel: 4, handle, &effects)
        case .disconnect(let handle):
            if connections[handle] != nil { command(0x0406, handle.littleEndianBytes(2) + [0x13], &effects) }
        }
        return effects
    }

    // MARK: Commands

    /// Reset; all events, and of LE's: connections, reports of both kinds, updates, features, key requests; address;
    /// buffers.
    private static let beginning: [(UInt16, [UInt8])] = [
        (0x0C03, []), (0x0C01, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F]),
        (0x2001, [0x1F, 0x10, 0, 0, 0, 0, 0, 0]), (0x1009, []), (0x2002, []),
    ]
    private static let lastOfBeginning: UInt16 = 0x2002

    mutating func command(_ opcode: UInt16, _ parameters: [UInt8], _ effects: inout [Effect]) {
        guard isOpen else { return }
        commands.append((opcode, parameters))
        nextCommand(&effects)
    }

    /// One at a time: each is answered.
    private mutating func nextCommand(_ effects: inout [Effect]) {
        guard awaited == nil, !commands.isEmpty else { return }
        let (opcode, parameters) = commands.removeFirst()
        awaited = opcode
        commandsSent += 1
        effects.append(.send([1] + opcode.littleEndianBytes(2) + [UInt8(parameters.count)] + parameters))
    }

    mutating func answered(_ opcode: UInt16, status: UInt8, _ parameters: ArraySlice<UInt8>, _ effects: inout [Effect])
    {
        if opcode == awaited { awaited = nil }
        // An attempt that is over cannot be cancelled, and an older controller may lack an event of the mask: neither
        // matters.
        if status != 0, opcode != 0x200E, opcode != 0x2001 {
            effects.append(opcode == 0x200D ? .connectFailed(status: status) : .refused(opcode: opcode, status: status))
        }
        if status == 0 { learn(opcode, Array(parameters), &effects) }
        nextCommand(&effects)
    }

    private mutating func learn(_ opcode: UInt16, _ parameters: [UInt8], _ effects: inout [Effect]) {
        switch opcode {
        case 0x1009 where parameters.count >= 6:
            address = BluetoothAddress(littleEndian: Array(parameters.prefix(6))) ?? address
            guard address.value == 0 else { return }
            address = fallback
            usesRandomAddress = true
            command(0x2005, fallback.littleEndian, &effects)
        case Self.lastOfBeginning where parameters.count >= 3:
            take(length: Int(parameters[0]) | Int(parameters[1]) << 8, count: Int(parameters[2]), &effects)
        case 0x1005 where parameters.count >= 5:
            // BR/EDR's buffers, where LE has none of its own.
            take(
                length: max(27, Int(parameters[0]) | Int(parameters[1]) << 8),
                count: max(1, Int(parameters[3]) | Int(parameters[4]) << 8), &effects)
        default: break
        }
    }

    private mutating func take(length: Int, count: Int, _ effects: inout [Effect]) {
        guard length >= 27, count >= 1 else { return command(0x1005, [], &effects) }
        (fragmentLength, credits) = (length, count)
        guard !isReady else { return }
        isReady = true
        effects.append(.ready(address))
    }

    private static func padded(_ data: [UInt8]) -> [UInt8] {
        let data = data.prefix(31)
        return [UInt8(data.count)] + data + [UInt8](repeating: 0, count: 31 - data.count)
    }
}
