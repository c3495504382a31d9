import Bluetooth
import Captures
import Foundation
import Support
import Testing

struct Reading {
    var packets: [(packet: CapturePacket, bytes: [UInt8])] = []
    var error: CaptureError?
    var info = CaptureFileInfo()

    var payloads: [[UInt8]] { packets.map(\.bytes) }
    var contents: [PacketContent] { packets.map(\.packet.content) }
    var directions: [TrafficDirection?] { packets.map(\.packet.direction) }
    var adapters: [UInt32] { packets.map(\.packet.adapter) }
    var times: [String?] { packets.map { $0.packet.time.map(TextEncoding.epoch) } }

    init(_ text: String, step: Int? = nil) { self.init(Array(text.utf8), step: step) }

    /// - Parameter step: bytes per read, as from a pipe; `nil`: all at once.
    init(_ file: [UInt8], step: Int? = nil) {
        var reader = CaptureReader()
        var window: [UInt8] = []
        var at = 0
        var isLast = false
        do {
            while !isLast {
                let next = min(file.count, at + (step ?? file.count))
                window += file[at..<next]
                at = next
                isLast = at == file.count
                let consumed = try reader.read(window.span.bytes, isLast: isLast) { packet, bytes in
                    packets.append((packet, array(bytes)))
                }
                window.removeFirst(consumed)
            }
        } catch let error as CaptureError {
            self.error = error
        } catch {
            Issue.record("another error than a CaptureError: \(error)")
        }
        info = reader.info
    }

    func isPrefix(of whole: Reading) -> Bool {
        packets.count <= whole.packets.count
            && zip(packets, whole.packets).allSatisfy { $0.packet == $1.packet && $0.bytes == $1.bytes }
    }

    func isEqual(to other: Reading) -> Bool {
        packets.count == other.packets.count && isPrefix(of: other) && error == other.error
    }
}

/// Reads a file with random bytes changed, removed, cut or repeated: at once and in pieces.
func expectNoTrap(_ file: [UInt8], rounds: UInt64 = 60) {
    for seed in 0..<rounds {
        var random = SeededGenerator(seed: seed), changed = file
        for _ in 0..<Int.random(in: 1...5, using: &random) where !changed.isEmpty {
            let at = Int.random(in: 0..<changed.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: changed[at] = UInt8.random(in: 0...255, using: &random)
            case 1: changed[at] = [0, 0xFF, 0x7F, 0x80].randomElement(using: &random) ?? 0
            case 2: changed = Array(changed.prefix(at))
            case 3: changed.insert(contentsOf: changed[at...].prefix(16), at: at)
            default: changed.remove(at: at)
            }
        }
        let reading = Reading(changed)
        #expect(Reading(changed, step: 1 + changed.count % 61).isEqual(to: reading), "seed \(seed)")
        #expect(reading.packets.reduce(0) { $0 + $1.bytes.count } <= changed.count, "seed \(seed)")
        #expect(reading.error?.offset ?? 0 <= changed.count, "seed \(seed)")
    }
}

/// A text that the fuzzers start from.
func corpusText(_ name: String) -> String {
    (try? String(contentsOfFile: "\(Program.repository)/Tests/Fuzz/corpus/\(name)", encoding: .utf8)) ?? ""
}

func array(_ bytes: RawSpan) -> [UInt8] {
    bytes.withUnsafeBytes { Array($0) }
}

/// Accepts `47 54 00` and `475400`.
func bytes(_ text: String) -> [UInt8] {
    let digits = Array(text.filter { !$0.isWhitespace })
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
}

func be(_ value: some FixedWidthInteger) -> [UInt8] { Swift.withUnsafeBytes(of: value.bigEndian) { Array($0) } }
func le(_ value: some FixedWidthInteger) -> [UInt8] { Swift.withUnsafeBytes(of: value.littleEndian) { Array($0) } }

/// Packets of each layer, with times that every format keeps.
enum Samples {
    static let start: Int64 = 1_770_000_000

    static let hci: [(CapturePacket, [UInt8])] = [
        (packet(0, .sent, .hci(.command)), bytes("03 0c 00")),
        (packet(1, .received, .hci(.event)), bytes("0e 04 01 03 0c 00")),
        (packet(2, .received, .hci(.acl)), bytes("40 20 0b 00 07 00 04 00 1b 22 00 52 54 00 01")),
        (packet(3, .sent, .hci(.acl)), bytes("40 00 0c 00 08 00 04 00 52 12 00 47 54 00 01 06")),
    ]
    static let air: [(CapturePacket, [UInt8])] = [
        (
            packet(0, .sent, .linkLayer(LinkLayerInfo(rfChannel: 9, signal: -40, isCRCValid: true))),
            bytes("87b6c72b 0a 0b 07000400 0a2200 11223344 010203")
        ),
        (
            packet(1, .received, .linkLayer(LinkLayerInfo(rfChannel: 9, signal: -41, isCRCValid: true))),
            bytes("87b6c72b 01 00 040506")
        ),
    ]
    static let text: [(CapturePacket, [UInt8])] = [
        (packet(0, nil, .connection(isStart: true, peer: BluetoothAddress(0xA4C1_3801_0203))), []),
        (packet(1, .sent, value(.writeCommand, BluetoothUUID(0xFFE9))), bytes("47 54 00 01 06")),
        (packet(2, .sent, value(.writeRequest, BluetoothUUID(0xFFE9))), bytes("47 54 00 01 FF")),
        (
            packet(3, .received, value(.notification, BluetoothUUID(0xFFE4))),
            bytes("50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00")
        ),
        (
            packet(
                4, .received, value(.indication, BluetoothUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_2B12))
            ),
            bytes("01")
        ),
        (packet(5, .received, value(.read, BluetoothUUID(0xFF02))), []),
        (packet(6, nil, .connection(isStart: false, peer: BluetoothAddress(0xA4C1_3801_0203))), []),
    ]

    private static func value(_ kind: ValueInfo.Kind, _ name: BluetoothUUID) -> PacketContent {
        .value(ValueInfo(kind: kind, characteristic: name, peer: BluetoothAddress(0xA4C1_3801_0203)))
    }

    private static func packet(_ index: Int, _ direction: TrafficDirection?, _ content: PacketContent) -> CapturePacket
    {
        CapturePacket(
            number: index + 1, time: Duration(seconds: start + Int64(index), nanoseconds: 123_000_000),
            direction: direction, content: content)
    }

    static func packets(_ layer: CaptureFormat.Layer) -> [(CapturePacket, [UInt8])] {
        switch layer {
        case .hci: hci
        case .linkLayer: air
        case .text: text
        }
    }

    static func writer(_ format: CaptureFormat) -> CaptureWriter {
        var info = CaptureFileInfo()
        info.name = "WaterH-Boost-24oz"
        info.address = BluetoothAddress(0xA4C1_3801_0203)
        info.profile = "retail"
        return CaptureWriter(format, info: info)
    }

    static func file(_ format: CaptureFormat) throws -> [UInt8] {
        var writer = writer(format)
        for (packet, bytes) in packets(format.layer) { try writer.write(packet, bytes.span.bytes) }
        return writer.takeOutput()
    }

    static let formats: [CaptureFormat] =
        CaptureFormat.named.map(\.format) + [
            CaptureFormat(.pcap, .h4WithDirection, isBigEndian: true),
            CaptureFormat(.pcapng, .monitor, isBigEndian: true),
            CaptureFormat(.pcap, .linkLayerWithRadio, isBigEndian: true),
            CaptureFormat(.pcapng, .linkLayer, isBigEndian: true),
        ]
}
