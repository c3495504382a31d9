import Bluetooth
import Support
import Testing

@Suite struct CodecOnCapturesTests {
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
}
