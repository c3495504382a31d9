// libFuzzer target for reassembly and synthesis; built by `hardware/fuzz` in one module with Sources/Bluetooth.
//
// The input is a list of packets: kind(1) flags(1) length(1) bytes. WATERH_FUZZ selects the kind: hci, air or text.

import Glibc

private let mode = getenv("WATERH_FUZZ").map { String(cString: $0) } ?? "hci"

private func packet(_ kind: UInt8, _ flags: UInt8, frame: Int, time: Duration) -> CapturePacket {
    let direction: TrafficDirection? = flags & 1 == 0 ? nil : flags & 2 == 0 ? .sent : .received
    let content: PacketContent
    switch mode {
    case "air":
        content = .linkLayer(
            .init(
                rfChannel: kind & 1 == 0 ? nil : kind >> 1 & 0x3F, isDecrypted: flags & 0x10 != 0,
                isCRCValid: flags & 0x20 == 0 ? nil : flags & 0x40 != 0, phy: flags & 0x80 == 0 ? .le1M : .coded))
    case "text":
        let peer = kind & 0x40 == 0 ? nil : BluetoothAddress(UInt64(kind & 3))
        let travels: [ValueInfo.Kind] = [.writeCommand, .writeRequest, .notification, .indication, .read]
        content =
            kind & 0x80 != 0
            ? .connection(isStart: kind & 1 == 0, peer: peer)
            : .value(
                .init(
                    kind: travels[Int(kind & 7) % 5],
                    characteristic: flags & 4 == 0 ? nil : BluetoothUUID(UInt16(flags)), handle: UInt16(flags),
                    peer: peer))
    default:
        content = kind & 0x80 != 0 ? .note(.monitor(1)) : .hci(HCIPacketType(rawValue: kind & 7))
    }
    return CapturePacket(
        number: frame, time: flags & 8 == 0 ? nil : time, adapter: UInt32(flags >> 7), direction: direction,
        missing: flags & 0x0C == 0x0C ? 1 : 0, content: content)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReassembly(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    var reassembler = ConversationReassembler()
    var hci = ConversationSynthesiser(.hci)
    var air = ConversationSynthesiser(.linkLayer)
    var delivered = 0
    var frame = 0
    var at = 0
    func take(_ event: ConversationEvent, _ bytes: RawSpan) {
        if case .att(let att) = event, !att.isSynthetic { delivered += bytes.byteCount }
        hci.receive(event, bytes, frame: frame, time: nil) { _, _ in }
        air.receive(event, bytes, frame: frame, time: .seconds(frame)) { _, _ in }
    }
    while input.count - at >= 3 {
        let end = min(input.count, at + 3 + Int(input[at + 2]))
        frame += 1
        let packet = packet(input[at], input[at + 1], frame: frame, time: .milliseconds(frame * Int(input[at + 1])))
        reassembler.receive(packet, input.span.bytes.extracting(at + 3..<end)) { take($0, $1) }
        at = end
    }
    reassembler.finish { take($0, $1) }
    // Text adds opcode and handle to each value; the other levels add no bytes.
    precondition(delivered <= count + (mode == "text" ? 3 * frame : 0), "the output is longer than the input")
    return 0
}
