import Bluetooth
import CommandSupport
import Testing

@Suite struct AdviceTests {
    @Test(arguments: LinkError.Code.allCases)
    func `socket and capture links have no advice to wake the bottle`(_ code: LinkError.Code) {
        for link in ["unix:/tmp/b.sock", "capture:/tmp/day.btsnoop", "demo"] {
            let advice = LinkAdvice(linkName: link, hasRadio: link.hasPrefix("capture:")).about(code)
            #expect(!advice.isEmpty, "\(link)")
            for word in ["nearer", "shake", "lid", "phone", "bluetoothctl", "group bluetooth"] {
                #expect(!advice.contains(word), "\(link), \(code): \(advice)")
            }
        }
    }

    @Test(
        arguments: [
            ("unix:/tmp/b.sock", LinkError.Code.notFound, "waterh-emulator run --link unix:/tmp/b.sock"),
            ("unix:/tmp/b.sock", .inProgress, "one connection"), ("unix:/tmp/b.sock", .permissionDenied, "ls -l"),
            ("capture:/tmp/d.btsnoop", .notFound, "waterh-replay info /tmp/d.btsnoop"),
            ("capture:/tmp/d.btsnoop", .timeout, "responds only with what was recorded"),
            ("l2cap:A4:C1:38:01:02:03", .connectFailed, "bluetoothctl disconnect A4:C1:38:01:02:03"),
            ("l2cap:A4:C1:38:01:02:03", .permissionDenied, "CAP_NET_RAW"),
            ("l2cap:A4:C1:38:01:02:03", .disconnected, "nearer"),
            ("bluez", .notFound, "shake"), ("bluez:hci1", .permissionDenied, "group bluetooth"),
            ("bluez", .poweredOff, "power on"),
        ] as [(String, LinkError.Code, String)])
    func `each link has its own advice`(_ link: String, _ code: LinkError.Code, _ words: String) {
        let advice = LinkAdvice(linkName: link, hasRadio: !link.hasPrefix("unix:")).about(code)
        #expect(advice.contains(words), "\(advice)")
    }

    @Test func `an unknown link name has radio advice only if the link has a radio`() {
        #expect(LinkAdvice(linkName: "memory", hasRadio: true).about(.notFound).contains("shake"))
        #expect(LinkAdvice(linkName: "memory", hasRadio: false).about(.notFound) == "Poll again.")
    }
}
