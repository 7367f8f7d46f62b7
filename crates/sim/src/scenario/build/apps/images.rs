//! Applications that transfer firmware images.

use super::App;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{ImageLeafSpec, ImageProtocol, ImageSourceSpec, QuickSpec};

impl App<'_, '_> {
    fn image_protocol(&self) -> ImageProtocol {
        match self.values.text(&self.key("protocol")).as_str() {
            "block1" => ImageProtocol::Block1,
            "q-block" => ImageProtocol::QBlock,
            "bdx" => ImageProtocol::Bdx,
            _ => ImageProtocol::Http,
        }
    }

    fn quick(&self) -> QuickSpec {
        let max_payloads = self.values.count(&self.key("max_payloads"));
        QuickSpec {
            max_payloads: max_payloads.map_or(1, |count| count as u16),
            non_timeout: self.values.duration(&self.key("non_timeout")),
        }
    }

    pub(super) fn image_source(&self) -> ImageSourceSpec {
        let protocol = self.image_protocol();
        let usual = match protocol {
            ImageProtocol::Http => 80,
            ImageProtocol::Block1 | ImageProtocol::QBlock => 5_683,
            ImageProtocol::Bdx => 5_540,
        };
        ImageSourceSpec {
            port: self.port_or(usual),
            protocol,
            bytes: self.values.bytes(&self.key("file")).unwrap_or_default(),
            block: self.block(),
            quick: self.quick(),
            interval: self.values.duration(&self.key("message_interval")),
        }
    }

    pub(super) fn image_leaf(&self) -> Result<ImageLeafSpec, ScenarioError> {
        let values = self.values;
        let (page, block) = (values.real(&self.key("page")) as u16, self.block());
        let protocol = self.image_protocol();
        if page > block && protocol != ImageProtocol::Http {
            let problem = format!("got {page} B; allowed: at most {block} B, the value of `block`");
            return Err(values.error(&self.key("page"), problem));
        }
        Ok(ImageLeafSpec {
            to: self.target()?,
            protocol,
            page,
            retry: values.duration(&self.key("retry")),
            patience: values.duration(&self.key("patience")),
            block,
            quick: self.quick(),
            interval: values.duration(&self.key("message_interval")),
        })
    }
}
