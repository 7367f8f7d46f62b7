// Saturated senders, and lines of nodes that forward datagrams, on the module
// lr-wpan of ns-3 (https://www.nsnam.org, GPL-2.0; Debian: libns3-dev), with
// which the simulator's radio and MAC are compared.
//
//   lr_wpan contention whole|end SENDERS SECONDS SEED
//       prints acknowledged frames per second, and the share of the sent frames
//       that were not acknowledged
//   lr_wpan line whole|end HOPS SECONDS SEED
//       prints the datagrams per second that arrive at the end of a line, and the
//       share of lost datagrams
//
// end: unmodified ns-3. Its clear channel assessment misses a frame that ends
// during the assessment, so senders transmit in the gap between a frame and its
// acknowledgment. whole: ns-3 also assesses the channel shortly before each
// frame ends.
//
// The medium is a unit disk: only neighbours hear one another. In ns-3 a frame
// survives an overlapping one of equal strength, so a model in this file destroys
// frames that overlap at their receiver.

#include <ns3/core-module.h>
#include <ns3/error-model.h>
#include <ns3/lr-wpan-csmaca.h>
#include <ns3/lr-wpan-mac.h>
#include <ns3/lr-wpan-net-device.h>
#include <ns3/lr-wpan-phy.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/propagation-loss-model.h>
#include <ns3/single-model-spectrum-channel.h>

#include <deque>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// Frame header of ns-3 between short addresses of one PAN, and the FCS.
constexpr unsigned OVERHEAD = 9 + 2;
constexpr unsigned SATURATED_BYTES = 100;
constexpr unsigned RETRIES = 3;

struct Transmission
{
    unsigned from;
    Time begin, end;
};

std::deque<Transmission> g_air;
unsigned g_reach = 1; // distance at which a node is heard, in places of the line
bool g_whole = false; // assessments detect every frame on the air during them

bool
Hears(unsigned a, unsigned b)
{
    return a != b && (a > b ? a - b : b - a) <= g_reach;
}

// Nodes are at x = 0, 1, 2, ...; the power is constant up to the reach.
class Disk : public PropagationLossModel
{
    double DoCalcRxPower(double dbm, Ptr<MobilityModel> a, Ptr<MobilityModel> b) const override
    {
        return a->GetDistanceFrom(b) < g_reach + 0.5 ? dbm : -1000.0;
    }

    int64_t DoAssignStreams(int64_t) override
    {
        return 0;
    }
};

// Destroys the frame that ends now if another one overlapped at this node.
class Overlap : public ErrorModel
{
  public:
    explicit Overlap(unsigned node)
        : m_node(node)
    {
    }

  private:
    bool DoCorrupt(Ptr<Packet>) override
    {
        for (const auto& frame : g_air)
        {
            if (frame.end != Simulator::Now() || !Hears(frame.from, m_node))
            {
                continue;
            }
            for (const auto& other : g_air)
            {
                if (other.from != frame.from && Hears(other.from, m_node) &&
                    other.begin < frame.end && frame.begin < other.end)
                {
                    return true;
                }
            }
        }
        return false;
    }

    void DoReset() override
    {
    }

    unsigned m_node;
};

struct Frame
{
    unsigned to, bytes;
    uint16_t datagram;
    uint8_t part;
};

class Network
{
  public:
    uint64_t m_sent = 0;

    explicit Network(unsigned count)
        : m_attempts(count)
    {
        auto channel = CreateObject<SingleModelSpectrumChannel>();
        channel->AddPropagationLossModel(CreateObject<Disk>());
        for (unsigned i = 0; i < count; ++i)
        {
            auto node = CreateObject<Node>();
            auto device = CreateObject<LrWpanNetDevice>();
            device->SetChannel(channel);
            node->AddDevice(device);
            auto place = CreateObject<ConstantPositionMobilityModel>();
            place->SetPosition(Vector(i, 0, 0));
            device->GetPhy()->SetMobility(place);
            device->GetPhy()->SetPostReceptionErrorModel(CreateObject<Overlap>(i));
            device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin",
                                                         MakeBoundCallback(&OnTx, this, i));
            device->GetMac()->SetPanId(1);
            device->GetMac()->SetShortAddress(Address(i));
            device->GetMac()->SetMacMaxFrameRetries(RETRIES);
            device->GetMac()->SetMcpsDataConfirmCallback(MakeBoundCallback(&OnConfirm, this, i));
            device->GetMac()->SetMcpsDataIndicationCallback(MakeBoundCallback(&OnFrame, this, i));
            device->AssignStreams(100 * i);
            m_devices.push_back(device);
        }
    }

    virtual ~Network() = default;

    void Run(unsigned seconds)
    {
        Simulator::Stop(Seconds(seconds));
        Simulator::Run();
        Simulator::Destroy();
    }

  protected:
    virtual void Confirmed(unsigned node, LrWpanMcpsDataConfirmStatus status) = 0;

    virtual void Received(unsigned, uint16_t, uint8_t)
    {
    }

    void Send(unsigned node, const Frame& frame)
    {
        std::vector<uint8_t> payload(frame.bytes - OVERHEAD);
        payload[0] = frame.datagram >> 8;
        payload[1] = frame.datagram & 0xff;
        payload[2] = frame.part;
        McpsDataRequestParams params;
        params.m_dstPanId = 1;
        params.m_dstAddr = Address(frame.to);
        params.m_txOptions = TX_OPTION_ACK;
        m_devices[node]->GetMac()->McpsDataRequest(
            params,
            Create<Packet>(payload.data(), payload.size()));
    }

    // Transmissions so far of the frame in service; SetRetries sets their limit.
    unsigned Attempts(unsigned node) const
    {
        return m_attempts[node];
    }

    void SetRetries(unsigned node, unsigned retries)
    {
        if (retries == RETRIES)
        {
            m_attempts[node] = 0;
        }
        m_devices[node]->GetMac()->SetMacMaxFrameRetries(retries);
    }

  private:
    static Mac16Address Address(unsigned node)
    {
        const uint8_t bytes[] = {uint8_t((node + 1) >> 8), uint8_t(node + 1)};
        Mac16Address address;
        address.CopyFrom(bytes);
        return address;
    }

    static void OnTx(Network* self, unsigned node, Ptr<const Packet> packet)
    {
        const Time now = Simulator::Now();
        while (!g_air.empty() && g_air.front().end < now - MilliSeconds(10))
        {
            g_air.pop_front();
        }
        const Time duration = MicroSeconds(32 * (6 + packet->GetSize()));
        g_air.push_back({node, now, now + duration});
        if (g_whole)
        {
            Simulator::Schedule(duration - NanoSeconds(1), [self] { self->Look(); });
        }
        if (packet->GetSize() > 5)
        {
            ++self->m_sent;
            ++self->m_attempts[node];
        }
    }

    // A signal without power, at which a current assessment registers the frames
    // on the air.
    void Look()
    {
        for (const auto& device : m_devices)
        {
            auto phy = device->GetPhy();
            auto silence = Create<SpectrumSignalParameters>();
            silence->psd = Create<SpectrumValue>(phy->GetRxSpectrumModel());
            silence->duration = NanoSeconds(1);
            phy->StartRx(silence);
        }
    }

    static void OnConfirm(Network* self, unsigned node, McpsDataConfirmParams params)
    {
        self->Confirmed(node, params.m_status);
    }

    static void OnFrame(Network* self, unsigned node, McpsDataIndicationParams, Ptr<Packet> packet)
    {
        uint8_t tag[3];
        packet->CopyData(tag, sizeof tag);
        self->Received(node, tag[0] << 8 | tag[1], tag[2]);
    }

    std::vector<Ptr<LrWpanNetDevice>> m_devices;
    std::vector<unsigned> m_attempts;
};

// Every node except the first always has a frame for the first.
class Contention : public Network
{
  public:
    uint64_t m_acknowledged = 0;

    explicit Contention(unsigned senders)
        : Network(senders + 1)
    {
        auto random = CreateObject<UniformRandomVariable>();
        for (unsigned node = 1; node <= senders; ++node)
        {
            Simulator::Schedule(MicroSeconds(random->GetInteger(0, 99999)), [this, node] {
                Next(node);
            });
        }
    }

  private:
    void Next(unsigned node)
    {
        Send(node, {0, SATURATED_BYTES, 0, 0});
    }

    void Confirmed(unsigned node, LrWpanMcpsDataConfirmStatus status) override
    {
        m_acknowledged += status == IEEE_802_15_4_SUCCESS;
        Next(node);
    }
};

// Datagrams of five frames go from the last node to the first, hop by hop. For every
// second datagram that arrives, the first node sends one frame back. At most WINDOW
// datagrams are in flight. A relay forwards a datagram when it has all frames of the
// datagram. A frame that found the channel busy is retried up to the same limit as a
// frame without acknowledgment. If a frame fails, the rest of its datagram is dropped,
// and the sender is informed at once.
class Line : public Network
{
  public:
    uint64_t m_arrived = 0, m_lost = 0;

    explicit Line(unsigned hops)
        : Network(hops + 1),
          m_hops(hops),
          m_nodes(hops + 1)
    {
        Simulator::Schedule(Seconds(0), [this] { Fill(); });
    }

  private:
    static constexpr unsigned WINDOW = 4, PARTS = 5, REPLY = PARTS, REPLY_BYTES = 46;
    static constexpr unsigned BYTES[PARTS] = {123, 120, 120, 120, 94};

    struct Place
    {
        std::deque<Frame> queue;
        bool busy = false;
        unsigned no_access = 0;
        std::map<uint16_t, std::set<uint8_t>> parts;
    };

    void Fill()
    {
        for (; m_under_way < WINDOW; ++m_under_way)
        {
            Pass(m_hops, m_next++, false);
        }
    }

    // Queues a datagram, or a reply, for the next node.
    void Pass(unsigned node, uint16_t datagram, bool reply)
    {
        auto& queue = m_nodes[node].queue;
        if (reply)
        {
            queue.push_back({node + 1, REPLY_BYTES, datagram, REPLY});
        }
        else
        {
            for (uint8_t part = 0; part < PARTS; ++part)
            {
                queue.push_back({node - 1, BYTES[part], datagram, part});
            }
        }
        Serve(node);
    }

    void Serve(unsigned node)
    {
        auto& place = m_nodes[node];
        if (!place.busy && !place.queue.empty())
        {
            place.busy = true;
            Send(node, place.queue.front());
        }
    }

    void Confirmed(unsigned node, LrWpanMcpsDataConfirmStatus status) override
    {
        auto& place = m_nodes[node];
        place.busy = false;
        // The simulator counts a channel that stays busy as a failed attempt.
        const unsigned failed = ++place.no_access + Attempts(node);
        if (status == IEEE_802_15_4_CHANNEL_ACCESS_FAILURE && failed <= RETRIES)
        {
            SetRetries(node, RETRIES - failed);
            Serve(node);
            return;
        }
        place.no_access = 0;
        SetRetries(node, RETRIES);
        const Frame frame = place.queue.front();
        place.queue.pop_front();
        if (status != IEEE_802_15_4_SUCCESS)
        {
            while (frame.part != REPLY && !place.queue.empty() &&
                   place.queue.front().datagram == frame.datagram &&
                   place.queue.front().part != REPLY)
            {
                place.queue.pop_front();
            }
            m_lost += frame.part != REPLY;
            Free(frame.part == REPLY ? 2 : 1);
        }
        Serve(node);
    }

    void Received(unsigned node, uint16_t datagram, uint8_t part) override
    {
        // ns-3 delivers repeated frames, too.
        auto& parts = m_nodes[node].parts[datagram];
        if (part == REPLY)
        {
            if (!m_replies.emplace(node, datagram).second)
            {
                return;
            }
            node == m_hops ? Free(2) : Pass(node, datagram, true);
            return;
        }
        if (!parts.insert(part).second || parts.size() < PARTS)
        {
            return;
        }
        if (node != 0)
        {
            Pass(node, datagram, false);
        }
        else if (++m_arrived % 2 == 0)
        {
            Pass(0, datagram, true);
        }
    }

    void Free(unsigned datagrams)
    {
        m_under_way -= std::min(datagrams, m_under_way);
        Simulator::ScheduleNow([this] { Fill(); });
    }

    unsigned m_hops;
    std::vector<Place> m_nodes;
    std::set<std::pair<unsigned, uint16_t>> m_replies;
    uint16_t m_next = 0;
    unsigned m_under_way = 0;
};

constexpr unsigned Line::BYTES[];

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::cerr << "usage: lr_wpan contention|line whole|end COUNT SECONDS SEED\n";
        return 2;
    }
    const std::string what = argv[1];
    g_whole = argv[2] == std::string("whole");
    const unsigned count = std::stoul(argv[3]);
    const unsigned seconds = std::stoul(argv[4]);
    RngSeedManager::SetRun(std::stoul(argv[5]));
    if (what == "contention")
    {
        g_reach = count;
        Contention run(count);
        run.Run(seconds);
        std::cout << double(run.m_acknowledged) / seconds << ' '
                  << 1 - double(run.m_acknowledged) / run.m_sent << '\n';
    }
    else
    {
        Line run(count);
        run.Run(seconds);
        std::cout << double(run.m_arrived) / seconds << ' '
                  << double(run.m_lost) / (run.m_lost + run.m_arrived) << '\n';
    }
}
