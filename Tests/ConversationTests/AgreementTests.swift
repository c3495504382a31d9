import Bluetooth
import Captures
import Support
import Testing

@Suite struct AgreementTests {
    @Test(arguments: RealCaptures.files)
    func `real captures agree with tshark`(path: String) async throws {
        let theirs = try await RealCaptures.reading(path).pdus
        let ours = try Observed(path: path)
        #expect(ours.error == nil)
        expectAgreement(ours.seen, theirs, ours.drops)
    }

    /// Decoding and encoding each PDU gives the same bytes, except for 128-bit forms of 16-bit UUIDs, where the value
    /// is equal.
    @Test(arguments: RealCaptures.files)
    func `real PDUs are unchanged after decoding and encoding`(path: String) throws {
        let observed = try Observed(path: path)
        var unknown: Set<ATTOpcode> = []
        for (att, pdu) in observed.pdus where !att.isSynthetic {
            do throws(MalformedPDU) {
                let decoded = try ATTPDU(decoding: pdu)
                if case .unknown(let opcode, _) = decoded { unknown.insert(opcode) }
                let again = decoded.encoded
                #expect(again == pdu || (try? ATTPDU(decoding: again)) == decoded, "frame \(att.frame): \(hex(pdu))")
            } catch {
                Issue.record("frame \(att.frame): \(hex(pdu)): \(error)")
            }
        }
        #expect(unknown.isEmpty)
    }

    @Test func `the shared captures exist`() {
        if RealCaptures.folder != nil { #expect(RealCaptures.files.count >= 6) }
    }
}

/// Our PDUs must be among tshark's, in its order. tshark can have more: retransmissions on the air and damaged packets,
/// at most as many as we report as dropped. Where a capture lacks directions, tshark cannot mark a retransmission: then
/// it is a PDU equal to a recent one.
func expectAgreement(_ ours: [SeenPDU], _ theirs: [Tshark.PDU], _ drops: [DropReason: Int]) {
    var next = 0
    var leftOut = 0
    for (index, their) in theirs.enumerated() {
        if next < ours.count, ours[next] == their.seen {
            next += 1
            continue
        }
        let isCopy = theirs[max(0, index - 3)..<index].contains { $0.seen.pdu == their.seen.pdu }
        #expect(
            their.isRepeat || their.isDamaged || isCopy,
            "tshark sees \(their.seen), we do not; our next is \(next < ours.count ? "\(ours[next])" : "none")")
        leftOut += 1
    }
    #expect(next == ours.count, "we see, tshark does not: \(ours.dropFirst(next).prefix(5))")
    #expect(leftOut <= (drops[.retransmission] ?? 0) + (drops[.badCRC] ?? 0))
}
