/// An HCI host without I/O for one LE controller, with ATT on its connections.
///
/// The host resets the controller, scans, advertises and connects. It handles fragmentation and flow control of ACL
/// data, and the fixed channels of L2CAP (Core 5.4, Vol 4).
package struct HCIHost: Sendable {
    package enum Input: Sendable {
        /// The transport is open. The host resets the controller and reads its address.
        case opened
        /// Bytes from the transport, split at any offset.
        case received([UInt8])
        case closed
        case scan(Bool)
        case advertise(AdvertisingBytes?)
        case connect(BluetoothAddress, isRandom: Bool)
        case cancelConnect
        case send(connection: UInt16, [UInt8])
        case disconnect(UInt16)
    }

    package enum Effect: Hashable, Sendable {
        case send([UInt8])
        case ready(BluetoothAddress)
        case advertised(ReceivedReport)
        case connected(UInt16, BluetoothAddress, isCentral: Bool)
        case connectFailed(status: UInt8)
        case received(connection: UInt16, [UInt8])
        /// The controller has no free buffer for this connection. `drained` follows.
        case congested(UInt16)
        case drained(UInt16)
        case disconnected(UInt16, reason: UInt8)
        case commandFailed(opcode: UInt16, status: UInt8)
        /// The controller failed, or the received bytes are not HCI. The transport is unusable.
        case failed(String)
    }

    package struct ReceivedReport: Hashable, Sendable {
        package var address: BluetoothAddress
        package var isRandom: Bool
        package var rssi: Int?
        package var data: [UInt8]
    }

    struct Connection {
        var partialFrame: [UInt8] = []
        /// The queued fragments. The controller holds `inFlight` further ones.
        var queuedFragments: [[UInt8]] = []
        var inFlight = 0
        var isCongested = false
        /// Whether the connection was too slow and is being closed.
        var isClosing = false
    }

    static let maximumConnections = 32

    private var stream = H4Stream()
    private var commands: [(opcode: UInt16, parameters: [UInt8])] = []
    private var awaitedOpcode: UInt16?
    private(set) var commandsSent = 0
    var connections: [UInt16: Connection] = [:]
    private(set) var fragmentLength = 27
    private(set) var bufferCount = 1
    var inFlight = 0
    var isOpen = false
    private var isReady = false
    private var usesRandomAddress = false
    private var address = BluetoothAddress(0)
    private let fallbackAddress: BluetoothAddress
    var effects: [Effect] = []

    /// - Parameter fallback: a static random address (Core 5.4, Vol 6 Part B, 1.3.2.1) for controllers that have none.
    package init(fallback: BluetoothAddress) { fallbackAddress = BluetoothAddress(fallback.value | 0xC000_0000_0000) }

    package var isWaitingForResponse: Bool { awaitedOpcode != nil }

    package mutating func handle(_ input: Input) -> [Effect] {
        switch input {
        case .opened:
            let (fallback, sent) = (fallbackAddress, commandsSent)
            self = HCIHost(fallback: fallback)
            commandsSent = sent
            isOpen = true
            for (opcode, parameters) in Self.initialCommands { command(opcode, parameters) }
        case .closed:
            for handle in connections.keys.sorted() { effects.append(.disconnected(handle, reason: 0x08)) }
            connections = [:]
            (isOpen, isReady, awaitedOpcode, commands, inFlight) = (false, false, nil, [], 0)
        case .received(let bytes): if isOpen { receive(bytes) }
        case .scan(let isOn):
            // Active scan, 60 ms of every 60 ms, with duplicates, because later reports have more data.
            if isOn { command(0x200B, [1, 0x60, 0, 0x60, 0, usesRandomAddress ? 1 : 0, 0]) }
            command(0x200C, [isOn ? 1 : 0, 0])
        case .advertise(let data):
            let commands = data?.startCommands(usesRandomAddress: usesRandomAddress) ?? AdvertisingBytes.stopCommands
            for (opcode, parameters) in commands { command(opcode, parameters) }
        case .connect(let peer, let isRandom):
            // Interval 30 to 50 ms, latency 0, supervision timeout 5 s.
            command(
                0x200D,
                [0x60, 0, 0x30, 0, 0, isRandom ? 1 : 0] + peer.littleEndian + [
                    usesRandomAddress ? 1 : 0, 24, 0, 40, 0, 0, 0, 0xF4, 1, 0, 0, 0, 0,
                ])
        case .cancelConnect: command(0x200E, [])
        case .send(let handle, let pdu): send(pdu, channel: 4, handle)
        case .disconnect(let handle):
            if connections[handle] != nil { command(0x0406, handle.littleEndianBytes(2) + [0x13]) }
        }
        defer { effects = [] }
        return effects
    }

    private mutating func receive(_ bytes: [UInt8]) {
        stream.append(bytes)
        while isOpen {
            switch stream.next() {
            case .packet(let type, let packet): receivePacket(type, packet)
            case .unknownType(let type):
                isOpen = false
                effects.append(.failed("received an HCI packet of the unknown type \(type)"))
            case .incomplete: return
            }
        }
    }

    // MARK: Commands

    /// Reset, event masks (LE: connections, reports, updates, features, key requests), address, buffer sizes.
    private static let initialCommands: [(UInt16, [UInt8])] = [
        (0x0C03, []), (0x0C01, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F]),
        (0x2001, [0x1F, 0x10, 0, 0, 0, 0, 0, 0]), (0x1009, []), (0x2002, []),
    ]
    private static let lastInitialOpcode: UInt16 = 0x2002

    mutating func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        guard isOpen else { return }
        commands.append((opcode, parameters))
        nextCommand()
    }

    private mutating func nextCommand() {
        guard awaitedOpcode == nil, !commands.isEmpty else { return }
        let (opcode, parameters) = commands.removeFirst()
        awaitedOpcode = opcode
        commandsSent += 1
        effects.append(.send([1] + opcode.littleEndianBytes(2) + [UInt8(parameters.count)] + parameters))
    }

    mutating func handleCommandResult(_ opcode: UInt16, status: UInt8, _ parameters: ArraySlice<UInt8>) {
        if opcode == awaitedOpcode { awaitedOpcode = nil }
        // Ignore errors of cancelling an attempt that has ended, and of event masks unknown to an old controller.
        if status != 0, opcode != 0x200E, opcode != 0x2001 {
            effects.append(
                opcode == 0x200D ? .connectFailed(status: status) : .commandFailed(opcode: opcode, status: status))
        }
        if status == 0 { parseCommandResult(opcode, Array(parameters)) }
        nextCommand()
    }

    private mutating func parseCommandResult(_ opcode: UInt16, _ parameters: [UInt8]) {
        switch opcode {
        case 0x1009 where parameters.count >= 6:
            address = BluetoothAddress(littleEndian: Array(parameters.prefix(6))) ?? address
            guard address.value == 0 else { return }
            address = fallbackAddress
            usesRandomAddress = true
            command(0x2005, fallbackAddress.littleEndian)
        case Self.lastInitialOpcode where parameters.count >= 3:
            setBuffers(length: Int(parameters.uint16(at: 0)), count: Int(parameters[2]))
        case 0x1005 where parameters.count >= 5:
            // If LE has no buffers, use those of BR/EDR.
            setBuffers(length: max(27, Int(parameters.uint16(at: 0))), count: max(1, Int(parameters.uint16(at: 3))))
        default: break
        }
    }

    private mutating func setBuffers(length: Int, count: Int) {
        guard length >= 27, count >= 1 else { return command(0x1005, []) }
        (fragmentLength, bufferCount) = (length, count)
        guard !isReady else { return }
        isReady = true
        effects.append(.ready(address))
    }
}
