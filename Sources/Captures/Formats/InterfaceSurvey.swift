/// From which packet to which each interface of a pcapng file is used, found by reading only the blocks' heads.
///
/// `mergecap -I none` gives each of its files an interface. Whether two of a kind are two adapters at one time, or
/// parts of one capture, only the rest of the file tells.
package struct InterfaceSurvey: Sendable {
    /// By the interface's number over all sections.
    private var spans: [Int: (first: Int, last: Int)] = [:]
    private var packets = 0
    private var interfacesBefore = 0
    private var interfaces = 0
    private var isBigEndian = false
    /// The block's first 12 bytes, as far as they came: type, length, and what stands first in its body.
    private var head: [UInt8] = []
    private var toSkip = 0
    /// No block begins here: what was found so far is all.
    private var isOver = false

    /// At the beginning of a file, with no interface met.
    package init() {}

    /// Takes the next bytes of the file.
    package mutating func take(_ piece: RawSpan) {
        var at = 0
        while at < piece.byteCount, !isOver {
            let skipped = min(toSkip, piece.byteCount - at)
            toSkip -= skipped
            at += skipped
            let wanted = min(12 - head.count, piece.byteCount - at)
            head.append(piece.extracting(at..<at + wanted))
            at += wanted
            guard toSkip == 0, head.count == 12 else { return }
            var whole: [UInt8] = []
            swap(&whole, &head)
            takeBlock(whole.span.bytes)
            whole.removeAll(keepingCapacity: true)
            swap(&whole, &head)
        }
    }

    private mutating func takeBlock(_ head: RawSpan) {
        let type = head.u32(0, bigEndian: isBigEndian)
        if type == PcapngParser.sectionHeader {
            isBigEndian = head.u32(8, bigEndian: true) == 0x1A2B_3C4D
            interfacesBefore += interfaces
            interfaces = 0
        }
        let length = head.u32(4, bigEndian: isBigEndian)
        guard length >= 12 else { return isOver = true }
        toSkip = Int(length) - 12
        switch type {
        case 1: interfaces += 1
        case 2: note(Int(head.u16(8, bigEndian: isBigEndian)))
        case 3: note(0)
        case 6: note(Int(head.u32(8, bigEndian: isBigEndian)))
        default: break
        }
    }

    private mutating func note(_ interface: Int) {
        packets += 1
        guard interface < interfaces else { return }
        spans[interfacesBefore + interface, default: (packets, packets)].last = packets
    }

    /// Whether one interface has its last packet before another's first.
    func isOver(_ one: Int, before other: Int) -> Bool {
        guard let one = spans[one], let other = spans[other] else { return false }
        return one.last < other.first
    }
}
